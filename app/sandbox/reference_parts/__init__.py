"""Purpose: the parts of the reference story: who, when, settings, logs, results, upstream page, checkpoint, texts."""
