package writ.access.deny_test

import data.writ.access.deny

_request := {
	"namespace": "shop", "name": "web-0", "podError": "",
	"pod": {"spec": {"containers": [{"name": "c"}]}},
}

_policy := {
	"name": "p", "source": "p.yaml:3", "failOpen": false, "block": ["hostIPC"],
	"thresholds": [
		{"maxScore": 30, "action": "allow"},
		{"maxScore": 70, "action": "warn"},
		{"maxScore": 100, "action": "deny", "reason": [{"text": "score "}, {"variable": "score"}, {"text": ": "}, {"variable": "factors"}]},
	],
}

test_judge[note] if {
	some note, row in {
		"nothing": {"points": {}, "want": {"action": "allow", "score": 0, "factors": []}},
		"at the threshold": {"points": {"runAsRoot": 30}, "want": {"action": "allow", "score": 30}},
		"above it": {"points": {"runAsRoot": 31}, "want": {"action": "warn", "warning": "p: risk score 31 triggered the warning threshold"}},
		"denied with a reason": {"points": {"hostNetwork": 80}, "want": {"action": "deny", "text": "score 80: hostNetwork"}},
		"above all": {"points": {"hostNetwork": 101}, "want": {"action": "deny", "text": "risk score 101 exceeds all thresholds"}},
		"blocked": {"points": {"hostIPC": 0}, "want": {"action": "deny", "text": "blocked factor detected: hostIPC", "score": 0}},
		"factors in their order": {
			"points": {"hostPathWritable": 1, "capability:B": 1, "capability:A": 1, "hostPID": 1},
			"want": {"factors": ["hostPID", "capability:A", "capability:B", "hostPathWritable"]},
		},
	}
	got := deny.judge(_policy, false, row.points) with input as _request
	every key, value in row.want {
		got[key] == value
	}
}

test_exempt_says_nothing if {
	got := deny.judge(_policy, true, {"hostIPC": 1}) with input as _request
	got == {"action": "allow", "source": "p.yaml:3"}
}

test_fail_mode_goes_before_exemptions if {
	closed := deny.judge(_policy, true, {}) with input as object.union(_request, {"podError": "gone"})
	closed.text == "pod spec unavailable (fail-closed): gone"
	open := deny.judge(object.union(_policy, {"failOpen": true}), true, {}) with input as object.union(_request, {"podError": "gone"})
	open.warning == "p: pod spec unavailable, not evaluated (fail-open): gone"
}

test_override if {
	settled := deny.judge(_policy, false, {"hostNetwork": 80}) with input as _request
		with data.compiled.escalations.overrides as {{"maxAllowedScore": 80, "exemptFactors": []}}
	settled.action == "allow"
	settled.override
	lifted := deny.judge(_policy, false, {"hostIPC": 50}) with input as _request
		with data.compiled.escalations.overrides as {{"exemptFactors": ["hostIPC"]}}
	lifted.action == "warn"
}

_pod(precedence, name, outcome) := [precedence, name, 2, object.union({"source": "x:1"}, outcome)]

test_outcome[note] if {
	warned := {"action": "warn", "warning": "w: careful", "score": 5, "factors": []}
	some note, row in {
		"nothing": {"rules": set(), "pods": set(), "want": {"denied": false, "warnings": []}},
		"the least precedence": {
			"rules": {[50, "b", 0, 2, "b:1", false], [10, "z", 0, 0, "z:1", true]}, "pods": set(),
			"want": {"denied": true, "reason": "denied by DenyPolicy z, rule 0: namespace labels are unknown (fail-closed)"},
		},
		"a policy's rules before its pod security": {
			"rules": {[10, "a", 0, 3, "a:1", false]},
			"pods": {_pod(10, "a", {"action": "deny", "text": "t", "score": 1, "factors": []})},
			"want": {"denied": true, "reason": "denied by DenyPolicy a, rule 3", "pods": []},
		},
		"impersonation rules after rules": {
			"rules": {[10, "a", 0, 3, "a:1", false], [10, "a", 1, 0, "a:2", false, ""]}, "pods": set(),
			"want": {"denied": true, "reason": "denied by DenyPolicy a, rule 3"},
		},
		"impersonation rules before pod security": {
			"rules": {[10, "a", 1, 2, "a:2", true, "no"]},
			"pods": {_pod(10, "a", {"action": "deny", "text": "t", "score": 1, "factors": []})},
			"want": {"denied": true, "reason": "denied by DenyPolicy a, impersonation rule 2: no: namespace labels are unknown (fail-closed)"},
		},
		"a warning before a denial stays": {
			"rules": {[50, "b", 0, 0, "b:1", false]}, "pods": {_pod(10, "w", warned)},
			"want": {"denied": true, "warnings": ["w: careful"]},
		},
		"what follows a denial is not judged": {
			"rules": {[10, "b", 0, 0, "b:1", false]}, "pods": {_pod(50, "w", warned)},
			"want": {"denied": true, "warnings": [], "pods": []},
		},
		"the first that warned is shown": {
			"rules": set(),
			"pods": {_pod(1, "a", {"action": "allow", "score": 9, "factors": []}), _pod(2, "w", warned)},
			"want": {"denied": false, "podSecurity": {"policy": "w", "action": "warn", "score": 5, "factors": []}},
		},
	}
	got := deny.outcome with data.compiled.deny.rules as row.rules with data.compiled.deny.pods as row.pods with input as _request
	every key, value in row.want {
		got[key] == value
	}
}
