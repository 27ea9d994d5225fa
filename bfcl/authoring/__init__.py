"""What people who write packs use: scaffolds, imports, static checks and daily tools. Never read by generation."""
