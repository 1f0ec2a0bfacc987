"""Queries in another schema, derived from the native text by rewriting its syntax tree.

Renaming touches identifiers only: stored tables, their columns, and the same words wherever the query passes a column on
(aliases, column lists). Because the map is one-to-one and applied everywhere alike, meaning does not change. Literals
and comments stay. The outermost columns keep their native names, which are the output contract.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import sqlglot
from sqlglot import exp
from sqlglot.optimizer.scope import traverse_scope

from m4lib.errors import M4Error
from m4lib.tasks.schemas.codebook import Codebook, codebook, mimic_catalogue
from m4lib.tasks.schemas.layout import merged_into, original_sql

DIALECT = "duckdb"


def rewrite(sql: str, schema: str, codes: Codebook | None = None) -> str:
    """The native query `sql` for the schema `native`, `obfuscated` or `restructured`.

    Raises M4Error for a table that the catalogue does not know.
    """
    if schema == "native":
        return sql
    codes = codes or codebook()
    tree = parse(sql)
    outputs = [projection.alias_or_name for projection in tree.selects]  # type: ignore[attr-defined]
    originals = stored_tables(tree)
    natives = {id(table): f"{table.db}.{table.name}".lower() for table in originals}
    _rename_tables(tree, {name: codes.table(name) for name in set(natives.values())})
    _rename_columns(tree, codes.columns)
    _name_outputs(tree, outputs)
    if schema == "restructured":
        for table in originals:
            if merged_into(natives[id(table)]):
                _read_from_merged(table, natives[id(table)], codes)
    return tree.sql(dialect=DIALECT, pretty=True, copy=False)


def restore(sql: str, codes: Codebook | None = None) -> str:
    """The native query that an obfuscated one came from (up to layout, and aliases that repeat a column's own name)."""
    codes = codes or codebook()
    tree = parse(sql)
    known = {f"{table.db}.{table.name}".lower() for table in stored_tables(tree)}
    unknown = sorted(known - set(codes.native_tables))
    if unknown:
        raise M4Error(f"The codebook has no native name for {', '.join(unknown)}.")
    _rename_tables(tree, {name: codes.native_tables[name] for name in known})
    _rename_columns(tree, codes.native_columns)
    return normal(tree).sql(dialect=DIALECT, pretty=True)


def parse(sql: str) -> exp.Expression:
    try:
        return sqlglot.parse_one(sql, read=DIALECT)  # type: ignore[return-value]
    except sqlglot.errors.ParseError as error:
        raise M4Error(f"This query cannot be parsed: {str(error).splitlines()[0]}") from error


def normal(tree: exp.Expression) -> exp.Expression:
    """The tree without aliases that only repeat a column's name, so that trees can be compared."""
    for alias in list(tree.find_all(exp.Alias)):
        if isinstance(alias.this, exp.Column) and alias.this.name == alias.alias:
            alias.replace(alias.this)
    return tree


def stored_tables(tree: exp.Expression) -> list[exp.Table]:
    """Every table of a schema, as against common table expressions."""
    return [table for table in tree.find_all(exp.Table) if table.db]


def _rename_tables(tree: exp.Expression, names: Mapping[str, str]) -> None:
    # a stored table without an alias is referred to by its bare name: those references follow
    for scope in traverse_scope(tree):
        for table in scope.sources.values():
            if isinstance(table, exp.Table) and table.db and not table.alias:
                bare = names[f"{table.db}.{table.name}".lower()].partition(".")[2]
                for column in scope.columns:
                    if column.table.lower() == table.name.lower():
                        column.set("table", exp.to_identifier(bare))
    for table in stored_tables(tree):
        schema, _, name = names[f"{table.db}.{table.name}".lower()].partition(".")
        table.set("this", exp.to_identifier(name))
        table.set("db", exp.to_identifier(schema))


def _rename_columns(tree: exp.Expression, names: Mapping[str, str]) -> None:
    for column in tree.find_all(exp.Column):
        if isinstance(column.this, exp.Identifier):
            _rename(column.this, names)
    for alias in tree.find_all(exp.Alias):
        _rename(alias.args["alias"], names)
    for table_alias in tree.find_all(exp.TableAlias):
        _rename_all(table_alias.args.get("columns"), names)
    for join in tree.find_all(exp.Join):
        _rename_all(join.args.get("using"), names)
    for star in tree.find_all(exp.Star):
        for key in ("except_", "except"):
            _rename_all(star.args.get(key), names)


def _rename_all(identifiers: Iterable[exp.Expression] | None, names: Mapping[str, str]) -> None:
    for identifier in identifiers or ():
        for inner in identifier.find_all(exp.Identifier):
            _rename(inner, names)


def _rename(identifier: exp.Expression, names: Mapping[str, str]) -> None:
    code = names.get(identifier.name.lower())
    if code:
        identifier.set("this", code)


def _name_outputs(tree: exp.Expression, outputs: list[str]) -> None:
    """Give the outermost columns the names `outputs` again."""
    for projection, name in zip(list(tree.selects), outputs, strict=True):  # type: ignore[attr-defined]
        if projection.alias_or_name == name or projection.is_star:
            continue
        if isinstance(projection, exp.Alias):
            projection.set("alias", exp.to_identifier(name))
        else:
            projection.replace(exp.alias_(projection.copy(), name))


def _read_from_merged(table: exp.Table, native: str, codes: Codebook) -> None:
    """Put a sub-select over the merged table, with the original's rows and grain, in the place of `table`."""
    merged = codes.restructured_tables[merged_into(native) or ""]
    columns = {column: codes.column(column) for column in mimic_catalogue()[native]}
    query = original_sql(native, columns, merged, codes.restructured_columns)
    inner = sqlglot.parse_one(query, read=DIALECT)
    for identifier in inner.find_all(exp.Identifier):
        identifier.set("quoted", False)
    name = table.alias or table.name
    table.replace(exp.Subquery(this=inner, alias=exp.TableAlias(this=exp.to_identifier(name))))
