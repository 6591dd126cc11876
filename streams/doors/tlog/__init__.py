"""The transparency log as others read it: checkpoint, tiles and bundles of tlog-tiles."""
