"""One file per data set; each yields recorded tasks."""
