"""How is one task played against one candidate, and what may the candidate get to see?"""
