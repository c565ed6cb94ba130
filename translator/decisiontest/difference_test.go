package decisiontest

import "testing"

func TestSubset(t *testing.T) {
	for _, row := range []struct {
		note, want, got string
		fits            bool
	}{
		{"equal", `{"a":1}`, `{"a":1}`, true},
		{"further keys do not count", `{"a":1}`, `{"a":1,"b":2}`, true},
		{"another value", `{"a":1}`, `{"a":2}`, false},
		{"another type", `{"a":1}`, `{"a":"1"}`, false},
		{"false is not 0", `{"a":false}`, `{"a":0}`, false},
		{"numbers by value", `{"a":1}`, `{"a":1.0}`, true},
		{"nested", `{"a":{"b":{"c":"x"}}}`, `{"a":{"b":{"c":"x","d":1}}}`, true},
		{"an empty object is exact", `{"a":{}}`, `{"a":{"b":1}}`, false},
		{"a missing key", `{"a":1}`, `{}`, false},
		{"null is absence", `{"a":null}`, `{"b":1}`, true},
		{"null equals no value", `{"a":null}`, `{"a":1}`, false},
		{"empty is absence", `{"a":[],"b":{},"c":"","d":false}`, `{"x":1}`, true},
		{"lists are sets", `{"a":[1,2]}`, `{"a":[2,1]}`, true},
		{"of one length", `{"a":[1]}`, `{"a":[1,2]}`, false},
		{"an element twice", `{"a":[1,1]}`, `{"a":[1,2]}`, false},
		{"elements are subsets", `{"a":[{"x":1}]}`, `{"a":[{"x":1,"y":2}]}`, true},
		{"a choice is taken back", `{"a":[{"x":1},{"x":1,"y":2}]}`, `{"a":[{"x":1,"y":2},{"x":1}]}`, true},
		{"no pairing", `{"a":[{"x":1},{"x":1,"y":2}]}`, `{"a":[{"x":1},{"x":1,"y":3}]}`, false},
		{"sources are exact", `{"sources":{"a":"x"}}`, `{"sources":{"a":"x","b":"y"}}`, false},
		{"contains", `{"reasonContains":"hammer/EDITORS"}`, `{"reason":"allowed by RoleBinding hammer/Editors"}`, true},
		{"contains all of a list", `{"reasonContains":["hammer","master"]}`, `{"reason":"in hammer"}`, false},
		{"contains, in a list", `{"warningsContains":"undecidable"}`, `{"warnings":["x undecidable: y"]}`, true},
		{"contains in nothing", `{"reasonContains":"x"}`, `{}`, false},
		{"a key that ends so", `{"labelsContains":"x"}`, `{"labelsContains":"x"}`, true},
		{"a part of a list", `{"a":{"contains":[{"x":1}]}}`, `{"a":[{"x":2},{"x":1,"y":2}]}`, true},
		{"a part that is not there", `{"a":{"contains":[{"x":3}]}}`, `{"a":[{"x":2},{"x":1}]}`, false},
		{"a part twice", `{"a":{"contains":[1,1]}}`, `{"a":[1,2]}`, false},
		{"a part of nothing", `{"a":{"contains":[1]}}`, `{}`, false},
		{"a list where an object is wanted", `{"a":{"b":1}}`, `{"a":[1]}`, false},
	} {
		t.Run(row.note, func(t *testing.T) {
			why, err := Difference([]byte(row.want), []byte(row.got))
			if err != nil {
				t.Fatal(err)
			}
			if (why == "") != row.fits {
				t.Errorf("got %q, want fits=%v", why, row.fits)
			}
		})
	}
}
