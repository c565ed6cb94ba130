package visibility

import "testing"

// The result decides whether later rules are unreachable, so an uncertain one is false.
func TestEveryName(t *testing.T) {
	tests := []struct {
		pattern string
		want    bool
	}{
		{".*", true}, {"^.*$", true}, {".*$", true}, {"^.*", true}, {".+", true}, {"^.+$", true},
		{"^", true}, {"$", true}, {"a*", true}, {"^a*", true}, {"(.*)", true}, {"a?b*", true}, {"x|.*", true}, {"x{0,3}", true},
		{"(?:a*b?)+c*", true}, {"((.+))", true}, {"(a*|bc)d?", true}, {"^(.+)$", true},
		{"^a*$", false}, {"^$", false}, {"a", false}, {".", false}, {".+.+", false}, {"^.?$", false}, {"a+", false},
		{"^prod", false}, {".*prod", false}, {`\b`, false}, {"[", false},
		{"(ab|cd)*e", false}, {"(?:a|bc)d?", false}, {"(a*b)+", false}, {"^(a|.*)$", false},
	}
	for _, test := range tests {
		t.Run(test.pattern, func(t *testing.T) {
			if got := matchesEveryName(test.pattern); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}
