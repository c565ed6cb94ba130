package diag

import "testing"

func TestPosition(t *testing.T) {
	for _, row := range []struct {
		name           string
		at             Position
		text, source   string
		line, column   int
		parsed         string // the source that was parsed, formatted again
		cannotBeParsed bool
	}{
		{"a line", Position{File: "a/b.yaml", Line: 3, Column: 7}, "a/b.yaml:3:7", "a/b.yaml:3", 3, 7, "a/b.yaml:3", false},
		{"a file with a colon", Position{File: "a:b.yaml", Line: 3}, "a:b.yaml:3", "a:b.yaml:3", 3, 0, "a:b.yaml:3", false},
		{"a whole file", Position{File: "a.yaml"}, "a.yaml", "a.yaml", 0, 0, "", true},
		{"nothing", Position{}, "", "", 0, 0, "", true},
		{
			"a field", Position{File: "kube:ClusterRole/system:node", Line: 1, Column: 40, Field: "rules[0].verbs"},
			"kube:ClusterRole/system:node:rules[0].verbs", "kube:ClusterRole/system:node:rules[0].verbs", 0, 0,
			"kube:ClusterRole/system:node:rules[0].verbs", false,
		},
		{
			"an object", Position{File: "kube:ClusterRole/system:1", Line: 1, Column: 40, Field: WholeObject},
			"kube:ClusterRole/system:1", "kube:ClusterRole/system:1", 0, 0, "kube:ClusterRole/system:1", false,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := row.at.String(); got != row.text {
				t.Errorf("text: got %q, want %q", got, row.text)
			}
			if got := row.at.Source(); got != row.source {
				t.Errorf("source: got %q, want %q", got, row.source)
			}
			if line, column := row.at.Shown(); line != row.line || column != row.column {
				t.Errorf("shown: got %d:%d, want %d:%d", line, column, row.line, row.column)
			}
			parsed, ok := ParseSource(row.source)
			if ok == row.cannotBeParsed || ok && parsed.Source() != row.parsed {
				t.Errorf("parsed: got %+v, %t", parsed, ok)
			}
		})
	}
}
