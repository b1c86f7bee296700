"""The REHEARSE role: protocol, rehearsed environment, private rehearsal."""
