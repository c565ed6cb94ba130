package main

import (
	"slices"
	"testing"
)

// Each pattern must be found, or the check cannot fail.
func TestEachPatternIsFound(t *testing.T) {
	bad := map[string][]string{
		"is no":       {"the answer is no pod", "headers are no\nUTF-8", "must be no URL", "there was a role, and it is no role"},
		"is none":     {"element 3 is none", "those are none of ours"},
		"nobody":      {"whoever asks", "Nobody reads it", "somebody else"},
		"door":        {"at the door", "all doors"},
		"trouble":     {"trouble with a policy", "troubled"},
		"tell":        {"clients are told", "it tells the caller", "to tell. Apart from that"},
		"hear":        {"it hears of the change", "an ear"},
		"sieve":       {"a sieve for spans"},
		"ring":        {"rings of routes"},
		"halves":      {"both halves"},
		"keeper":      {"the keeper of revisions"},
		"grounds":     {"grounds of an answer"},
		"demand":      {"a demand of the request", "what it demands"},
		"standing":    {"the standing of a policy"},
		"what came":   {"log what came"},
		"there is no": {"there is no document", "nil if there is none", "there are no\nroles", "there was nothing to read", "a member there is not"},
	}
	for _, p := range patterns {
		if len(bad[p.name]) == 0 {
			t.Errorf("pattern %q has no example", p.name)
		}
		for _, example := range bad[p.name] {
			if got := search(text{1, example}); len(got) != 1 || got[0].instead != p.instead {
				t.Errorf("pattern %q: %q: got %v, want one finding", p.name, example, got)
			}
		}
	}
}

func TestPlainEnglishIsNotFound(t *testing.T) {
	for _, good := range []string{
		"there is one role", "nil if it does not exist", "it is no longer active", "the outcome is no opinion",
		"what documents can tell apart", "read on demand", "load on-demand", "outdoors, string, untold, grounded",
		"is not a URL", "with no groups",
	} {
		if got := search(text{line: 1, content: good}); len(got) != 0 {
			t.Errorf("%q: got %v, want nothing", good, got)
		}
	}
}

func TestProseIsExtracted(t *testing.T) {
	for _, test := range []struct {
		file, content string
		want          []int // lines with a finding
	}{
		{"comment.go", "package p\n\n// The first line\n// is\n// none.\n", []int{4}},
		{"block.go", "package p\n\n/*\nA door.\n*/\n", []int{4}},
		{"separate.go", "package p\n\n// it is\n\n// none of this\n", nil},
		{"string.go", "package p\n\nvar a = \"trouble\"\n\nvar b = `x\ntrouble`\n", []int{3, 6}},
		{"message.go", "package p\n\n// there is no role\nvar a = \"there is no role\"\n", []int{3, 4}},
		{"names.go", "package p\n\ntype askedDoor struct{ isTold bool }\n\nfunc TestNobodyAsks() { isNone := 1; _ = isNone }\n", []int{3, 3, 5, 5}},
		{"code.go", "package p\n\nfunc f() { print(door) }\n", nil},
		{"broken.go", "package p\n\n// a door\nfunc {\n", []int{3}},
		{"rule.rego", "package writ.door\n\n# This rule is\n# none.\nx := \"a # trouble\" # told\n", []int{1, 3, 5, 5}},
		{"page.md", "A door.\n\n```\na door\n```\nIn `door` the path\nis no URL.\n", []int{1, 7}},
		{"script.txtar", "# The door\nexec writ\n-- a.yaml --\n# a door\n", []int{1}},
		{"bare.txtar", "-- a.yaml --\n# a door\n", nil},
		{"Makefile", "test: ## say what is told\n", []int{1}},
		{"the_door.md", "Nothing.\n", []int{1}},
	} {
		var got []int
		for _, f := range checkFile(test.file, test.content, extractorOf(test.file), newAllowList(nil)) {
			got = append(got, f.line)
		}
		slices.Sort(got)
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: got findings on lines %v, want %v", test.file, got, test.want)
		}
	}
}

func TestAllowList(t *testing.T) {
	entries := []allowance{{"docs/", "front door", "a proper name"}, {"docs/", "back door", "a proper name"}}
	allowed := newAllowList(entries)
	content := "The front door, and a door.\n"
	if got := checkFile("docs/a.md", "The front door.", markdownTexts, allowed); len(got) != 0 {
		t.Errorf("got %v, want the entry to permit it", got)
	}
	if got := checkFile("other/a.md", content, markdownTexts, allowed); len(got) != 2 {
		t.Errorf("got %v, want two findings: the entry is for another folder", got)
	}
	if got := allowed.unused(); len(got) != 1 || got[0] != entries[1] {
		t.Errorf("got unused entries %v, want %v", got, entries[1:])
	}
	for _, a := range allowances {
		if a.reason == "" {
			t.Errorf("the allowance for %q in %s has no reason", a.text, a.file)
		}
	}
}

// Each root must contribute files, or a misspelt folder would pass.
func TestNoFilesIsAnError(t *testing.T) {
	if _, err := run([]string{t.TempDir()}); err == nil {
		t.Error("got no error for a folder without files")
	}
	if status, err := run([]string{"patterns.go"}); err != nil || status != 1 {
		t.Errorf("got status %d and error %v for a file with bad words, want 1", status, err)
	}
}
