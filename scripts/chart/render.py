"""Renders the chart with Helm's own engine, and validates the result with the schemas of Kubernetes.

stdin: {"chart": path, "namespace": name, "versions": [Kubernetes versions], "cases": {name: values}}
stdout: {"lint": [messages], "cases": {name: {"files": {path: text}, "error": text or null}}, "invalid": [texts]}
"""
import json
import sys

import helm_python
import kubernetes_validate
import yaml

request = json.load(sys.stdin)
lint = helm_python.lint(request["chart"], strict=True, namespace=request["namespace"])
cases = {}
invalid = []
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
            if not path.endswith(".yaml"):
                continue
            for resource in yaml.safe_load_all(text):
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
