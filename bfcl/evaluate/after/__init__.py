"""What can be said of finished evaluations: do they hold, how do two compare, what went wrong in them?"""
