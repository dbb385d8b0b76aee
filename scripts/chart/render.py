"""Renders the chart with Helm's own engine, and validates the result with the schemas of Kubernetes.

stdin: {"chart": path, "namespace": name, "versions": [Kubernetes versions], "cases": {name: values}}
stdout: {"lint": [messages], "cases": {name: {"files": {path: text}, "error": text or null}}, "invalid": [texts]}
"""
import functools
import json
import sys

import helm_python
import kubernetes_validate
import yaml

# the loader in Python takes seconds for the dashboards
Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# each call of validate() parses the schemas of its version again, a megabyte of JSON
for name in ("all_versions", "schema_contents"):
    setattr(kubernetes_validate.utils, name, functools.cache(getattr(kubernetes_validate.utils, name)))
request = json.load(sys.stdin)
lint = helm_python.lint(request["chart"], strict=True, namespace=request["namespace"])
cases = {}
invalid = []
validated = set()
with helm_python.Chart.load(request["chart"]) as chart:
    for name, values in request["cases"].items():
        try:
            chart.validate_schema(chart.merge_values(values))
            files = chart.render(values=values, name="inkcast", namespace=request["namespace"])
        except helm_python.HelmError as error:
            cases[name] = {"files": {}, "error": str(error)}
            continue
        cases[name] = {"files": files, "error": None}
        for path, text in files.items():
            # most cases have most files in common
            if not path.endswith(".yaml") or text in validated:
                continue
            validated.add(text)
            for resource in yaml.load_all(text, Loader=Loader):
                if resource is None or resource["apiVersion"].startswith("monitoring.coreos.com/"):
                    continue
                for version in request["versions"]:
                    try:
                        kubernetes_validate.validate(resource, version, strict=True)
                    except Exception as error:
                        where = ".".join(str(part) for part in getattr(error, "path", []))
                        message = getattr(error, "message", str(error))
                        invalid.append(f"{name}: {resource['kind']} {resource['metadata']['name']} ({version}) {where}: {message}")
json.dump({"lint": lint["messages"], "lintErrors": lint["errors"], "cases": cases, "invalid": invalid}, sys.stdout)
