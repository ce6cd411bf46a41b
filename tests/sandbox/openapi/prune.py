"""Purpose: makes `github.json` and `github.graphql` from GitHub's own descriptions: only what the stand-in serves.

    python tests/sandbox/openapi/prune.py api.github.com.json schema.graphql

Run by hand when the stand-in gains an endpoint or field; see README.md for where the two inputs come from.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from graphql import GraphQLInterfaceType, GraphQLObjectType, build_schema, parse
from graphql.language import ast as nodes
from graphql.language import print_ast

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[2]))

from app.sandbox import server  # noqa: E402, F401  (registers the routes)
from app.sandbox.api.core import ROUTES  # noqa: E402
from app.sandbox.api.schema import SCHEMA  # noqa: E402

Json = dict[str, Any]
DROPPED = ("description", "example", "examples", "externalDocs", "title", "x-github", "deprecated", "default")


def main(description: str, schema: str) -> None:
    whole = json.loads(Path(description).read_text())
    served = {(route.method.lower(), bare(route.template)) for route in ROUTES}
    operations: Json = {}
    for path, methods in whole["paths"].items():
        for method, told in methods.items():
            if (method, bare(path)) in served:
                operations[f"{method.upper()} {bare(path)}"] = operation(told, whole)
    schemas: Json = {}
    collect(operations, whole["components"]["schemas"], schemas)
    pruned = {"operations": operations, "components": {"schemas": dict(sorted(schemas.items()))}}
    (HERE / "github.json").write_text(json.dumps(pruned, separators=(",", ":"), sort_keys=True) + "\n")
    (HERE / "github.graphql").write_text(graphql(Path(schema).read_text()))


def bare(path: str) -> str:
    """A path with unnamed parts: GitHub and the stand-in name them differently."""
    return re.sub(r"\{[^}]+\}", "{}", path)


def operation(told: Json, whole: Json) -> Json:
    """Body and answers of one operation, JSON only."""
    made: Json = {"answers": {}}
    for status, answer in told["responses"].items():
        found = whole["components"]["responses"][answer["$ref"].split("/")[-1]] if "$ref" in answer else answer
        schema = found.get("content", {}).get("application/json", {}).get("schema")
        made["answers"][status] = None if schema is None else translated(schema)
    body = told.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    if body is not None:
        made["body"] = translated(body)
    return made


def translated(node: Any) -> Any:
    """OpenAPI 3.0's `nullable` as JSON Schema says it; texts for people left out."""
    if isinstance(node, list):
        return [translated(each) for each in node]
    if not isinstance(node, dict):
        return node
    nullable = node.get("nullable") is True
    made = {
        name: {key: translated(value) for key, value in part.items()} if name == "properties" else translated(part)
        for name, part in node.items()
        if name not in (*DROPPED, "nullable")
    }
    if not nullable:
        return made
    if "type" in made and not any(name in made for name in ("anyOf", "oneOf", "allOf", "$ref")):
        if "enum" in made:
            made["enum"] = [*made["enum"], None]
        return made | {"type": [made["type"], "null"]}
    return {"anyOf": [made, {"type": "null"}]}


def collect(node: Any, known: Json, found: Json) -> None:
    """Add every schema that is referred to, and what these refer to."""
    if isinstance(node, list):
        for each in node:
            collect(each, known, found)
    elif isinstance(node, dict):
        name = str(node.get("$ref", "")).rpartition("/")[2]
        if name and name not in found:
            found[name] = translated(known[name])
            collect(found[name], known, found)
        for each in node.values():
            collect(each, known, found)


def graphql(text: str) -> str:
    """GitHub's own definition of each type and field that the stand-in's schema has."""
    ours = build_schema(SCHEMA)
    document = parse(text)
    kept: list[str] = []
    for node in document.definitions:
        name = getattr(getattr(node, "name", None), "value", "")
        if name not in ours.type_map or name in ("Int", "String", "Boolean", "ID", "Float"):
            continue
        own = ours.type_map[name]
        if isinstance(own, GraphQLObjectType | GraphQLInterfaceType):
            assert isinstance(node, nodes.ObjectTypeDefinitionNode | nodes.InterfaceTypeDefinitionNode)
            fields = [each for each in node.fields or () if each.name.value in own.fields]
            kept.append(type_text(node, fields, own, ours))
        elif isinstance(node, nodes.UnionTypeDefinitionNode):
            members = [each.name.value for each in node.types or () if each.name.value in ours.type_map]
            kept.append(f"union {name} = {' | '.join(members)}")
        else:
            kept.append(re.sub(r'"""(?:[^"]|"(?!""))*"""\n?\s*', "", print_ast(node)))
    return "\n\n".join(sorted(kept)) + "\n"


def type_text(node: Any, fields: list[Any], own: Any, ours: Any) -> str:
    """A type with some of its fields; arguments of types that we do not have are left out."""
    kind = "interface" if isinstance(node, nodes.InterfaceTypeDefinitionNode) else "type"
    above = [each.name for each in own.interfaces]
    lines = []
    for each in fields:
        arguments = [
            f"{argument.name.value}: {print_ast(argument.type)}"
            for argument in each.arguments or ()
            if re.sub(r"[\[\]!]", "", print_ast(argument.type)) in {*ours.type_map, "DateTime", "URI"}
        ]
        told = f"({', '.join(arguments)})" if arguments else ""
        lines.append(f"  {each.name.value}{told}: {print_ast(each.type)}")
    implements = f" implements {' & '.join(above)}" if above else ""
    return f"{kind} {node.name.value}{implements} {{\n" + "\n".join(lines) + "\n}"


if __name__ == "__main__":
    main(*sys.argv[1:])
