package writ.access.kinds_test

import data.writ.access.kinds

test_plural[note] if {
	some note, row in {
		"consonant and y": {"word": "policy", "want": "policies"},
		"vowel and y": {"word": "gateway", "want": "gateways"},
		"y alone": {"word": "y", "want": "ys"},
		"s": {"word": "ingress", "want": "ingresses"},
		"us": {"word": "componentstatus", "want": "componentstatuses"},
		"x": {"word": "box", "want": "boxes"},
		"z": {"word": "quiz", "want": "quizes"},
		"ch": {"word": "branch", "want": "branches"},
		"sh": {"word": "mesh", "want": "meshes"},
		"e": {"word": "cache", "want": "caches"},
		"plain": {"word": "pod", "want": "pods"},
	}
	kinds.plural(row.word) == row.want
}

test_same[note] if {
	some note, row in {
		"singular": {"word": "pod", "has": {"pod", "pods"}},
		"plural": {"word": "pods", "has": {"pod", "pods"}},
		"ies": {"word": "policies", "has": {"policies", "policy"}},
		"es": {"word": "ingresses", "has": {"ingress", "ingresses"}},
		"caches of cache and cach": {"word": "caches", "has": {"cache", "cach", "caches"}},
	}
	count(row.has - {word | some word in kinds.same(row.word)}) == 0
}

test_not_the_same[note] if {
	some note, row in {
		"a prefix": {"word": "pod", "not": "podtemplates"},
		"two steps apart": {"word": "pod", "not": "podses"},
		"y that stays": {"word": "gateways", "not": "gatewaies"},
	}
	not row["not"] in kinds.same(row.word)
}
