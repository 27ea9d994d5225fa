"""What do all pages that are made for a browser share? Layout, style, charts, and how data gets into them."""
