package emit

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestNames(t *testing.T) {
	long := strings.Repeat("long-", 50) + "e"
	for name, row := range map[string]struct {
		names      []string
		file, rego string
	}{
		"plain":                    {[]string{"no-risky-exec"}, "no-risky-exec", "no_risky_exec"},
		"several":                  {[]string{"authpolicy", "net", "edge"}, "authpolicy-net-edge", "authpolicy_net_edge"},
		"a hyphen in the last":     {[]string{"net", "my-edge"}, "net-my-edge", "net_my_edge"},
		"a hyphen before the last": {[]string{"kube-system", "edge"}, "kube-system__edge", "kube_system___edge"},
		"no namespace":             {[]string{"kubernetes", "", "view"}, "kubernetes--view", "kubernetes______view"},
		"dots":                     {[]string{"api.example.com"}, "api.example.com", "api__2eexample__2ecom"},
		"a colon":                  {[]string{"system:node"}, "system_3anode", "system__3anode"},
		"capitals":                 {[]string{"View"}, "_56iew", "__56iew"},
		"an underscore":            {[]string{"a_b"}, "a_5fb", "a__5fb"},
		"two hyphens":              {[]string{"a--b"}, "a--b", "a__2d__2db"},
		"out of a folder":          {[]string{"../x"}, "_2e_2e_2fx", "__2e__2e__2fx"},
		"not ASCII":                {[]string{"ä"}, "_c3_a4", "__c3__a4"},
		"too long": {[]string{long}, long[:135] + "~f130b5ff881704ace68908b97b77f5d06ee85034148b7390b6acc84ae01753b8",
			strings.ReplaceAll(long, "-", "_")},
	} {
		t.Run(name, func(t *testing.T) {
			if got := FileName(row.names...); got != row.file {
				t.Errorf("file: got %q, want %q", got, row.file)
			}
			if got := Identifier(row.names...); got != row.rego {
				t.Errorf("identifier: got %q, want %q", got, row.rego)
			}
		})
	}
	if got, want := PathName("rules/a-b/x"), "rules__a-b__x"; got != want {
		t.Errorf("path: got %q, want %q", got, want)
	}
}

// someName draws names that are alike: few characters, those that encodings use
// among them, and names near the length at which a file name is cut.
func someName() *rapid.Generator[string] {
	short := rapid.StringOfN(rapid.SampledFrom([]rune("ab2dfAB-_./~:ä#")), 0, 6, -1)
	long := rapid.Custom(func(t *rapid.T) string {
		return strings.Repeat("x-", rapid.IntRange(60, 127).Draw(t, "half the length")) + short.Draw(t, "end")
	})
	return rapid.OneOf(short, short, short, long, rapid.String())
}

// Lists of names that differ have results that differ, also where case counts for
// nothing, and a result is a file name or a part of a variable.
func TestNamesAreInjective(t *testing.T) {
	file := regexp.MustCompile(`^[a-z0-9._~-]*$`)
	variable := regexp.MustCompile(`^[a-z0-9_]*$`)
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 4).Draw(t, "names")
		lists := rapid.SliceOfN(rapid.SliceOfN(someName(), size, size), 2, 30).Draw(t, "lists")
		files, variables, paths := map[string]string{}, map[string]string{}, map[string]string{}
		for _, names := range lists {
			path := strings.Join(names, "/")
			for _, row := range []struct {
				seen      map[string]string
				got, of   string
				permitted *regexp.Regexp
			}{
				{files, FileName(names...), strings.Join(names, "\x00"), file},
				{variables, Identifier(names...), strings.Join(names, "\x00"), variable},
				{paths, PathName(path), path, file},
			} {
				if !row.permitted.MatchString(row.got) || strings.HasPrefix(row.got, ".") || strings.Contains(row.got, "..") {
					t.Fatalf("%q gives %q", row.of, row.got)
				}
				if other, ok := row.seen[row.got]; ok && other != row.of {
					t.Fatalf("%q and %q both give %q", other, row.of, row.got)
				}
				row.seen[row.got] = row.of
			}
			if got := FileName(names...) + "_test.rego"; len(got) > 255-len("authpolicy-") || strings.HasSuffix(FileName(names...), "_test") {
				t.Fatalf("%q gives the file %q", names, got)
			}
		}
	})
}

// What follows a document's name in a helper rule is not read as an escaped byte, so
// helpers of two documents never share a name.
func TestHelpersAreInjective(t *testing.T) {
	purposes := []string{"clusters", "tenants", "sessions", "escalations", "attached", "rule_0_names", "rule_1_namespace_label_0_0", "exempt", "scope", "part_1", "part_12"}
	rapid.Check(t, func(t *rapid.T) {
		seen := make(map[string][2]string)
		for _, name := range rapid.SliceOfN(someName(), 1, 12).Draw(t, "names") {
			for _, purpose := range append(purposes, "") {
				helper := NewModule(name).HelperName(purpose)
				of := [2]string{name, purpose}
				if other, ok := seen[helper]; ok && other != of {
					t.Fatalf("%q and %q both give %q", other, of, helper)
				}
				seen[helper] = of
			}
		}
	})
}
