package ignore

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestRules(t *testing.T) {
	for _, row := range []struct {
		name, patterns, path string
		folder, want         bool
	}{
		{"a name", "a.yaml", "x/a.yaml", false, true},
		{"another name", "a.yaml", "x/b.yaml", false, false},
		{"a path", "x/a.yaml", "x/a.yaml", false, true},
		{"a path elsewhere", "x/a.yaml", "y/x/a.yaml", false, false},
		{"the top", "/a.yaml", "x/a.yaml", false, false},
		{"a folder", "charts/", "x/charts", true, true},
		{"not a folder", "charts/", "x/charts", false, false},
		{"a star", "*.yaml", "x/y.yaml", false, true},
		{"a star does not cross folders", "x/*.yaml", "x/y/z.yaml", false, false},
		{"two stars", "x/**/z.yaml", "x/y/y/z.yaml", false, true},
		{"two stars for no folder", "x/**/z.yaml", "x/z.yaml", false, true},
		{"two stars at the beginning", "**/y/z.yaml", "a/b/y/z.yaml", false, true},
		{"two stars at the end", "x/**", "x/y", false, true},
		{"two stars at the end and the folder", "x/**", "x", true, false},
		{"a class", "[a-c].yaml", "b.yaml", false, true},
		{"a negated class", "[!a-c].yaml", "b.yaml", false, false},
		{"an open class", "[a", "[a", false, false},
		{"a comment", "# a\n", "# a", false, false},
		{"an escaped comment", "\\#a", "#a", false, true},
		{"an exception", "*.yaml\n!a.yaml", "a.yaml", false, false},
		{"an exception before", "!a.yaml\n*.yaml", "a.yaml", false, true},
		{"blanks at the end", "a.yaml  \r\n", "a.yaml", false, true},
		{"an escaped blank at the end", `a\ `, "a ", false, true},
		{"a byte order mark", "\ufeffa.yaml", "a.yaml", false, true},
		{"two bytes", "?.yaml", "é.yaml", false, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := (Rules{}).With("", []byte(row.patterns)).Ignores(row.path, row.folder); got != row.want {
				t.Errorf("got %v, want %v", got, row.want)
			}
		})
	}
}

// A file of patterns concerns its folder, and one below takes precedence.
func TestFolders(t *testing.T) {
	rules := Rules{}.With("", []byte("*.yaml")).With("x/y", []byte("!/a.yaml"))
	for path, want := range map[string]bool{"a.yaml": true, "x/a.yaml": true, "x/y/a.yaml": false, "x/y/z/a.yaml": true, "x/yy/a.yaml": true} {
		if got := rules.Ignores(path, false); got != want {
			t.Errorf("%s: got %v, want %v", path, got, want)
		}
	}
}

// Random patterns leave out the files that git leaves out.
func TestAgreesWithGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	dir := t.TempDir()
	run := func(args ...string) string {
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "core.excludesFile=/dev/null", "-c", "core.quotePath=false"}, args...)...)
		var errs bytes.Buffer
		cmd.Stderr = &errs
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("git %v: %v: %s", args, err, &errs)
		}
		return string(out)
	}
	run("init", "-q")
	for _, name := range []string{"a", "b.yaml", "a-b", "x/a", "x/b.yaml", "x/y/a", "x/y/b.yaml", "x/y/z/a", "y/x/a", "y/a/b.yaml", "y/a/x/a", "b/y/x/b.yaml", "#a", "!a", "a]"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r := rand.New(rand.NewPCG(1, 7))
	pieces := []string{"a", "b", "x", "y", "/", "/", "*", "*", "**", "/**/", "?", ".yaml", "[ab]", "[!a]", "[a-x]", "[]a]", `\a`, "[[:alpha:]]", "-", " ", "[", "#", "!", "]"}
	pattern := func() string {
		var b strings.Builder
		if r.IntN(5) == 0 {
			b.WriteString("!")
		}
		for range 1 + r.IntN(4) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		return b.String()
	}
	ignored := 0
	for range 150 {
		top, below := pattern()+"\n"+pattern()+"\n", pattern()+"\n"
		for name, text := range map[string]string{".gitignore": top, "x/.gitignore": below} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want := strings.Fields(run("ls-files", "--others", "--exclude-standard"))
		want = slices.DeleteFunc(want, func(name string) bool { return strings.HasSuffix(name, ".gitignore") })
		slices.Sort(want)
		got := walk(t, dir, Rules{}.With("", []byte(top)), below)
		if !slices.Equal(got, want) {
			t.Fatalf("%q, below x %q:\ngot  %q\nwant %q", top, below, got, want)
		}
		ignored += 15 - len(got)
	}
	if ignored < 100 {
		t.Errorf("the patterns left out %d files, which proves little", ignored)
	}
}

// walk returns the files that are read, sorted.
func walk(t *testing.T, dir string, top Rules, below string) (read []string) {
	t.Helper()
	inX := top.With("x", []byte(below))
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		name := filepath.ToSlash(strings.TrimPrefix(strings.TrimPrefix(path, dir), string(filepath.Separator)))
		if err != nil || name == "" {
			return err
		}
		if strings.HasPrefix(entry.Name(), ".git") {
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		rules := top
		if strings.HasPrefix(name, "x/") {
			rules = inX
		}
		switch {
		case rules.Ignores(name, entry.IsDir()) && entry.IsDir():
			return fs.SkipDir
		case !entry.IsDir() && !rules.Ignores(name, false):
			read = append(read, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(read)
	return read
}

func FuzzPatterns(f *testing.F) {
	f.Add("**/a[b-", "a/b")
	f.Fuzz(func(_ *testing.T, patterns, path string) {
		Rules{}.With("", []byte(patterns)).Ignores(path, false)
	})
}

func ExampleRules() {
	rules := Rules{}.With("", []byte("charts/\n*.tmpl.yaml\n"))
	fmt.Println(rules.Ignores("web/charts", true), rules.Ignores("web/role.yaml", false))
	// Output: true false
}
