"""When does a call that a candidate made count as the one that was expected?"""
