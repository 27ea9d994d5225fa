"""What is an episode worth, and what are all of a candidate's episodes worth together?"""
