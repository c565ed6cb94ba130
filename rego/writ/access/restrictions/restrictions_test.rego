package writ.access.restrictions_test

import data.writ.access.restrictions

_plain := {"user": "u", "verb": "update", "resource": "pods"}

_minion := {"sameMinion": true}

test_verdict[note] if {
	some note, row in {
		"fields covered": {"r": {"fields": ["spec"]}, "change": {"fields": ["spec.a", "spec[0]"]}, "want": "true"},
		"a field beside": {"r": {"fields": ["spec"]}, "change": {"fields": ["specs"]}, "want": "false"},
		"a parent": {"r": {"fields": ["spec.a"]}, "change": {"fields": ["spec"]}, "want": "false"},
		"no field": {"r": {"fields": ["spec"]}, "change": {"fields": []}, "want": "true"},
		"fields unknown": {"r": {"fields": ["spec"]}, "change": {}, "want": "unknown"},
		"reading": {"r": {"fields": ["spec"]}, "change": {"verb": "watch", "fields": ["x"]}, "want": "true"},
		"deleting": {"r": {"fields": ["spec"]}, "change": {"verb": "delete"}, "want": "false"},
		"short field": {"r": {"fields": ["metadata.labels"]}, "change": {"fields": ["labels[app]"]}, "want": "true"},
		"label there": {"r": {"labels": [{"key": "a"}]}, "change": {"labels": {"a": ""}}, "want": "true"},
		"label of another value": {"r": {"labels": [{"key": "a", "value": "x"}]}, "change": {"labels": {"a": "y"}}, "want": "false"},
		"one of two labels": {"r": {"labels": [{"key": "a"}, {"key": "b"}]}, "change": {"labels": {"a": ""}}, "want": "false"},
		"labels unknown": {"r": {"labels": [{"key": "a"}]}, "change": {}, "want": "unknown"},
		"false before unknown": {"r": {"labels": [{"key": "a"}], "fields": ["spec"]}, "change": {"labels": {}}, "want": "false"},
		"unknown before true": {"r": {"labels": [{"key": "a"}], "fields": ["spec"]}, "change": {"labels": {"a": ""}}, "want": "unknown"},
		"same node": {"r": _minion, "change": {"attributes": {"minion": "n", "podMinion": "n"}}, "want": "true"},
		"another node": {"r": _minion, "change": {"attributes": {"minion": "n", "podMinion": "m"}}, "want": "false"},
		"node by name": {"r": _minion, "change": {"user": "system:node:n", "attributes": {"podMinion": "n"}}, "want": "true"},
		"no requester's node": {"r": _minion, "change": {"attributes": {"podMinion": "n"}}, "want": "unknown"},
		"no pod's node": {"r": _minion, "change": {"attributes": {"minion": "n"}}, "want": "unknown"},
		"a pod that runs nowhere": {"r": _minion, "change": {"pod": {"spec": {}}}, "want": "false"},
		"a pod with an error": {"r": _minion, "change": {"pod": {"spec": {"nodeName": "n"}}, "podError": "x", "attributes": {"minion": "n"}}, "want": "unknown"},
		"no pods": {"r": _minion, "change": {"resource": "nodes", "attributes": {"minion": "n", "podMinion": "n"}}, "want": "false"},
		"pods of another group": {"r": _minion, "change": {"apiGroup": "x", "attributes": {"minion": "n", "podMinion": "n"}}, "want": "false"},
		"extension true": {"r": {"extension": "says", "params": {"answer": true}}, "change": {}, "want": "true"},
		"extension false": {"r": {"extension": "says", "params": {"answer": false}}, "change": {}, "want": "false"},
		"extension undefined": {"r": {"extension": "says"}, "change": {}, "want": "false"},
		"extension unknown": {"r": {"extension": "says", "params": {"answer": "unknown"}}, "change": {}, "want": "unknown"},
		"extension that answers rubbish": {"r": {"extension": "says", "params": {"answer": 7}}, "change": {}, "want": "unknown"},
	}
	restrictions.judge(row.r).verdict == row.want with input as object.union(_plain, row.change)
}

test_missing_only_where_unknown if {
	known := restrictions.judge({"fields": ["spec"]}) with input as object.union(_plain, {"fields": []})
	known.missing == {}
	unknown := restrictions.judge({"fields": ["spec"]}) with input as _plain
	unknown.missing == {"fieldsMutatable": "which fields change is not known"}
}

_expressions := {"yes": "true", "no": "false", "broken": "error"}

test_expression[text] if {
	some text, want in {
		"yes": {"verdict": "true", "missing": {}},
		"no": {"verdict": "false", "missing": {}},
		"broken": {"verdict": "unknown", "missing": {"cel": "a value without an error is not known"}},
		"reads what is not there": {"verdict": "unknown", "missing": {"cel": "what it reads is not known"}},
	}
	want == restrictions.judge({"expression": text}) with data.compiled.expressions.verdicts as _expressions
		with input as _plain
}

test_expression_without_any if {
	restrictions.judge({"expression": "yes"}).verdict == "unknown" with input as _plain
}
