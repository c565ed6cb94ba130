package main

import "strings"

// An allowance permits a text in the files whose path begins with file, for a
// reason a reader can check.
type allowance struct {
	file, text, reason string
}

// allowances is short on purpose: rewording is nearly always possible.
var allowances = []allowance{
	{"tests/prose/patterns.go", "", "lists the patterns"},
	{"tests/prose/prose_test.go", "", "shows that each pattern is found"},
	{"analysis/verify/principals.go", "", "the name of a made-up user"},
}

type allowList struct {
	entries []allowance
	used    []bool
}

func newAllowList(entries []allowance) *allowList {
	return &allowList{entries: entries, used: make([]bool, len(entries))}
}

// allows reports whether an entry permits the finding. An entry's text is
// compared with the words around the match, so that it can be longer than it.
func (l *allowList) allows(f finding) bool {
	for i, e := range l.entries {
		if strings.HasPrefix(f.file, e.file) && strings.Contains(f.context, e.text) {
			l.used[i] = true
			return true
		}
	}
	return false
}

func (l *allowList) unused() []allowance {
	var unused []allowance
	for i, e := range l.entries {
		if !l.used[i] {
			unused = append(unused, e)
		}
	}
	return unused
}
