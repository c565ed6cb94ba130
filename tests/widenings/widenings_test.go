// Package widenings has the ways in which the grant of an operator was widened under a guard
// that stayed green, each a directory, and one assertion that notices all of them.
package widenings

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/writ-policy/writ/analysis/verify"
	"github.com/writ-policy/writ/tests/revisions"
	"github.com/writ-policy/writ/translator/assertion"
	"github.com/writ-policy/writ/translator/source"
	"github.com/writ-policy/writ/translator/syntax"
)

// role is what the guards that are written by hand read.
type role struct {
	Kind  string
	Rules []struct {
		APIGroups, Resources, ResourceNames, Verbs []string
	}
}

// guards are guards as projects write them beside their charts: each looks at the shape of
// rules.
var guards = map[string]func(r *role) bool{
	// notContains of helm-unittest compares a rule with one object.
	"no rule is the object {secrets, *}": func(r *role) bool {
		for _, rule := range r.Rules {
			if slices.Equal(rule.APIGroups, []string{""}) && slices.Equal(rule.Resources, []string{"secrets"}) && slices.Equal(rule.Verbs, []string{"*"}) && rule.ResourceNames == nil {
				return false
			}
		}
		return true
	},
	"rules about secrets have names": func(r *role) bool {
		for _, rule := range r.Rules {
			if slices.Contains(rule.Resources, "secrets") && len(rule.ResourceNames) == 0 {
				return false
			}
		}
		return true
	},
}

// rows are the directories, with what notices each: the assertion about everything, the one
// about Secrets alone, and the two guards.
var rows = []struct {
	name                          string
	all, secrets, object, byNames bool
}{
	{"declared", false, false, false, false},
	{"resource-star", true, false, false, false},
	{"group-star", true, true, false, false},
	{"verb-star", true, true, false, false},
	{"names-decoy", true, true, false, false},
	{"deletecollection", true, true, false, false},
	{"second-rule", true, true, false, true},
	{"aggregated", true, true, false, true},
}

func TestWidenings(t *testing.T) {
	text, err := os.ReadFile("testdata/assertion.yaml")
	if err != nil {
		t.Fatal(err)
	}
	list := assertion.Kinds.Decode("assertion.yaml", text, syntax.Options{}).Documents[0].(*assertion.Document).Assertions
	folders, err := os.ReadDir("testdata")
	if err != nil || len(folders) != len(rows)+1 {
		t.Fatalf("%d entries of testdata, %v: want %d directories and the assertion", len(folders), err, len(rows))
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			content, err := os.ReadFile(filepath.Join("testdata", row.name, "rbac.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			side, diagnostics := revisions.OfFiles(t, []source.File{source.NewFile("rbac.yaml", content)})
			if side == nil {
				t.Fatal(diagnostics)
			}
			report, err := verify.Run(t.Context(), &verify.Input{Side: side, Assertions: list, Now: time.Unix(0, 0), SetNow: func(time.Time) {}})
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range []bool{row.all, row.secrets} {
				if r := &report.Assertions[i]; r.Failed != want {
					t.Errorf("%q is %s (%s), want that it fails: %t", r.Name, r.Verdict, r.Text, want)
				}
			}
			object, names := true, true
			for part := range strings.SplitSeq(string(content), "\n---\n") {
				var r role
				if err := yaml.Unmarshal([]byte(part), &r); err != nil {
					t.Fatal(err)
				}
				object = object && guards["no rule is the object {secrets, *}"](&r)
				names = names && guards["rules about secrets have names"](&r)
			}
			if object == row.object || names == row.byNames {
				t.Errorf("the guards notice: object %t, names %t; want %t, %t", !object, !names, row.object, row.byNames)
			}
		})
	}
}
