package conformance

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/writ-policy/writ/analysis/diff"
	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/tests/gate"
	"github.com/writ-policy/writ/tests/revisions"
	"github.com/writ-policy/writ/translator/source"
)

// Each suite is compared with itself without one of its documents. A class is inexact only
// for a reason that nothing exact can be said: at access, because a list has a statement that
// reads a pod or runs code; of visibility, because it is about items or custom types. Pods,
// items and custom types may have the reason pattern too: not all sets of risk factors, or
// threes of principals, are tried.
func TestInexactClassesHaveAReason(t *testing.T) {
	counts, exact, pairs := make(map[string]int), 0, 0
	suites, err := filepath.Glob("*/*/policies")
	if err != nil {
		t.Fatal(err)
	}
	every := 16 // of the suites, which take seconds each on a slow machine
	if gate.Effort() > 100 {
		every = 1
	}
	for i, folder := range suites {
		if i%every != 0 {
			continue
		}
		report := withoutOne(t, folder)
		if report == nil {
			continue
		}
		pairs++
		for j := range report.Classes {
			k := &report.Classes[j]
			if problem := unreasoned(report, k); problem != "" {
				t.Errorf("%s: class %s %s: %+v", folder, k.ID, problem, k)
			}
			if k.Exact {
				exact++
			}
			for _, why := range k.Why {
				counts[why]++
			}
		}
	}
	t.Logf("%d pairs: %d exact classes", pairs, exact)
	for _, why := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%s: %d inexact", why, counts[why])
	}
	if exact == 0 {
		t.Error("no class is exact")
	}
	for _, why := range []string{statement.WhyPod, statement.WhyItems, statement.WhyGateway} {
		if counts[why] == 0 {
			t.Errorf("no class is inexact because of %s", why)
		}
	}
}

// withoutOne compares the documents of a folder with those without one of them: the last one
// without which they have no errors. It returns nil if no such document exists.
func withoutOne(t *testing.T, folder string) *diff.Report {
	t.Helper()
	var files []source.File
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		for n, text := range strings.Split(string(content), "\n---\n") {
			name := strings.TrimPrefix(path, folder+"/")
			if n > 0 {
				name = strings.TrimSuffix(name, filepath.Ext(name)) + strings.Repeat("-", n) + filepath.Ext(name)
			}
			files = append(files, source.NewFile(name, []byte(text)))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	a, _ := revisions.OfFiles(t, files)
	for i := len(files) - 1; i >= 0 && a != nil; i-- {
		b, _ := revisions.OfFiles(t, slices.Delete(slices.Clone(files), i, i+1))
		if b == nil || filepath.Ext(files[i].Path) == ".rego" {
			continue
		}
		report, err := diff.Compare(t.Context(), a, b, diff.Options{Now: time.Unix(1e9, 0)})
		if err != nil {
			t.Fatalf("%s without %s: %v", folder, files[i].Path, err)
		}
		return report
	}
	return nil
}

// unreasoned states how the reasons of a class are wrong, "" if they are right.
func unreasoned(r *diff.Report, k *diff.Class) string {
	allowed := []string{}
	switch k.Point {
	case statement.PointAccess:
		for _, id := range slices.Concat(k.All...) {
			allowed = append(allowed, opaque(&r.Statements[id])...)
		}
		if slices.Contains(allowed, statement.WhyPod) {
			allowed = append(allowed, statement.WhyPattern)
		}
	case statement.PointVisibility:
		switch {
		case k.Question == "item":
			allowed = append(allowed, statement.WhyItems, statement.WhyPattern)
		case !slices.Equal(k.Types, statement.StandardTypes):
			allowed = append(allowed, statement.WhyCustomType, statement.WhyPattern)
		}
	case statement.PointGateway:
		allowed = append(allowed, statement.WhyGateway)
	}
	for _, why := range k.Why {
		if !slices.Contains(allowed, why) {
			return "has the reason " + why + " without a statement that has it"
		}
	}
	switch {
	case k.Exact != (len(k.Why) == 0):
		return "is exact and has reasons, or neither"
	case k.Exact && len(allowed) > 0:
		return "is exact and has an opaque statement"
	}
	return ""
}

// opaque returns why a statement is opaque.
func opaque(s *statement.JSON) []string {
	if s.Row().PodSecurity != nil {
		return []string{statement.WhyPod}
	}
	switch kind, _ := s.Row().AttributeRestrictions["kind"].(string); kind {
	case "", "sameMinionRestriction": // decided by the request
		return nil
	case statement.WhyCEL:
		return []string{statement.WhyCEL}
	default:
		return []string{"extension:" + kind}
	}
}
