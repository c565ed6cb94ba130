package git_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/writ-policy/writ/translator/settings"
	"github.com/writ-policy/writ/translator/source/git"
)

// Settings and patterns travel with a commit: they are read as in a directory.
func TestControlsOfACommit(t *testing.T) {
	c := newCheckout(t)
	c.write("policies/.writ.yaml", "default-namespace: shop\nignore: [old.yaml]\n")
	c.write("policies/.writignore", "/charts/\n*.tmpl.yaml\n")
	c.write("policies/a.yaml", "")
	c.write("policies/old.yaml", "")
	c.write("policies/charts/a.yaml", "")
	c.write("policies/x/.writignore", "!b.tmpl.yaml\n")
	c.write("policies/x/a.tmpl.yaml", "")
	c.write("policies/x/b.tmpl.yaml", "")
	c.write(".writ.yaml", "a mistake above the policy directory: has no effect\n")
	c.link("policies/x/gone.tmpl.yaml", "gone")
	c.commit()
	location := parse(t, "git+file://"+c.dir+"//policies")
	snapshot, list, err := git.Open(git.Options{Location: location, Dir: t.TempDir()}).Snapshot(t.Context())
	if err != nil || len(list) > 0 {
		t.Fatal(err, list)
	}
	var paths []string
	for _, f := range snapshot.Files {
		paths = append(paths, f.Path)
	}
	if want := []string{"a.yaml", "x/b.tmpl.yaml"}; !slices.Equal(paths, want) {
		t.Errorf("got %q, want %q", paths, want)
	}
	origin := snapshot.Origins[0]
	if origin.Ignored != 4 || origin.Settings.Text(settings.DefaultNamespace) != "shop" {
		t.Errorf("got %+v", origin)
	}
	all, list, err := git.Open(git.Options{Location: location, Dir: t.TempDir(), NoIgnore: true}).Snapshot(t.Context())
	if err != nil || len(all.Files) != 5 || len(list) != 1 {
		t.Errorf("without patterns: got %d files, %v, %v", len(all.Files), list, err)
	}

	c.write("policies/.writ.yaml", "default-namespaces: shop\n")
	c.commit()
	_, list, err = git.Open(git.Options{Location: location, Dir: t.TempDir()}).Snapshot(t.Context())
	if err != nil || len(list) != 1 || list[0].File != ".writ.yaml" || !strings.Contains(list[0].Message+list[0].Hint, "default-namespace") {
		t.Errorf("a mistake: got %v, %v", list, err)
	}
}
