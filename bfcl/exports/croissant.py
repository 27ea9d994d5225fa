"""How does Croissant, the metadata format of ML datasets, describe the exported table? Rule: generation.md §7.

Croissant 1.1. Its reference reader takes lists of records apart one level deep; what lies deeper, the calls of a
message and the arguments of a call, is in the file and told in words. Where and when the dataset appeared and under
which licence is its publisher's to say, so those properties are left out.
"""

from __future__ import annotations

from typing import Final

from bfcl.canonical import Json
from bfcl.digest import Digest
from bfcl.exports.row import Source
from bfcl.tables.hub import Column, hub_columns

RECORDS: Final = "rows"

_CONTEXT: Final[Json] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "arrayShape": "cr:arrayShape",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "containedIn": "cr:containedIn",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "description": {"@container": "@language"},
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isArray": "cr:isArray",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "name": {"@container": "@language"},
    "parentField": "cr:parentField",
    "path": "cr:path",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
_DATA_TYPES: Final = {"string": "sc:Text", "int32": "cr:Int32", "uint64": "cr:UInt64", "bool": "sc:Boolean"}


def croissant(source: Source, file: str, content_hash: Digest, about: str) -> Json:
    """The description of one table. `file` is relative to the document, `about` one line of prose."""
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.1",
        "name": source.pack_id,
        "description": about,
        "version": source.pack_version,
        "keywords": ["function calling", "tool use", "benchmark"],
        "isLiveDataset": False,
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": file,
                "name": file,
                "contentUrl": file,
                "encodingFormat": "application/x-parquet",
                "sha256": content_hash.removeprefix("sha256:"),
            }
        ],
        "recordSet": [
            {
                "@type": "cr:RecordSet",
                "@id": RECORDS,
                "name": RECORDS,
                "description": f"{source.rows} conversations, one a row.",
                "key": {"@id": f"{RECORDS}/task_id"},
                "field": [_field(column, file) for column in hub_columns()],
            }
        ],
    }


def _field(column: Column, file: str) -> Json:
    place = f"{RECORDS}/{column.name}"
    source = {"fileObject": {"@id": file}, "extract": {"column": column.name}}
    field: dict[str, Json] = {"@type": "cr:Field", "@id": place, "name": column.name}
    if column.repeated:
        field |= {"isArray": True, "arrayShape": "-1"}
    if not column.fields:
        return {**field, "dataType": _DATA_TYPES[column.type], "source": source}
    deeper = [one.name for one in column.fields if one.fields]
    if deeper:
        field["description"] = f"Records; what the file holds of them in {', '.join(deeper)} is not described here."
    field["subField"] = [
        {
            "@type": "cr:Field",
            "@id": f"{place}/{one.name}",
            "name": one.name,
            "dataType": _DATA_TYPES[one.type],
            "source": {**source, "transform": {"jsonPath": one.name}},
        }
        for one in column.fields
        if not one.fields
    ]
    return field
