package writ.gateway.outcome_test

import data.writ.gateway.outcome

test_sets_become_lists if {
	outcome.plain({"names": {"b", "a"}, "level": 3}) == {"names": ["a", "b"], "level": 3}
}

test_only_an_allowing_rule_leaves_a_value if {
	state := {"auth": {"authorization": {"a": 1}}}
	outcome.after(state, "b", {"outcome": "allow", "value": 2}) == {"auth": {"authorization": {"a": 1, "b": 2}}}
	outcome.after(state, "b", {"outcome": "deny", "value": null}) == state
}

test_without_identity_is_anonymous if {
	outcome.anonymous({"auth": {"metadata": {}}}) == {"auth": {"metadata": {}, "identity": {"anonymous": true}}}
}

test_only_true_is_true if {
	outcome.is_true(true)
	every value in [false, "true", 1, null, {"true"}] {
		not outcome.is_true(value)
	}
}
