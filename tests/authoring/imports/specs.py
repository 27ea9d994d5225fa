"""Small OpenAPI files for tests: one operation, or one schema, in the dialect that is asked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bfcl.authoring.imports.decisions import Decisions
from bfcl.authoring.imports.openapi import import_openapi
from bfcl.authoring.imports.report import ImportedCatalog

DOCUMENTS = sorted((Path(__file__).parent / "documents").glob("*.*"))


def spec(paths: Any, *, openapi: str = "3.1.0", **components: Any) -> bytes:
    return json.dumps({"openapi": openapi, "paths": paths, "components": components}, indent=1).encode()


def imported(paths: Any, *, openapi: str = "3.1.0", decisions: Decisions | None = None, **components: Any) -> Any:
    return import_openapi(spec(paths, openapi=openapi, **components), decisions or Decisions(), path="spec.json")


def parameters(catalog: ImportedCatalog, index: int = 0) -> Any:
    entry: Any = catalog.entries[index]
    return entry["function"]["parameters"]


def query(schema: Any, *, openapi: str = "3.1.0", **schemas: Any) -> tuple[Any, list[tuple[str, str, str]]]:
    """(the schema a query parameter got, (pointer below it, keyword, action) of each notice, sorted)."""
    operation = {"operationId": "look", "parameters": [{"name": "it", "in": "query", "schema": schema}]}
    catalog = imported({"/x": {"get": operation}}, openapi=openapi, schemas=schemas)
    start = "/paths/~1x/get/parameters/0/schema"
    notes = [(each["pointer"].removeprefix(start), each["keyword"], each["action"]) for each in catalog.report]
    return parameters(catalog)["properties"]["it"], sorted(notes)
