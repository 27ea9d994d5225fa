"""Tool catalogs and fixture rows out of what people already have: OpenAPI files, Python source, tables of records."""
