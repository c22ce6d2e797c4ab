"""The study: given data and what mistakes cost, which method saves the most money?"""
