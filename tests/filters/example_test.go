package filters

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/writ-policy/writ/tests/process"
)

// The example lists what a user sees of a table, in the order of the table's own column.
func TestExample(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed: examples/filters/pods.py is left out")
	}
	bin := t.TempDir()
	if err := os.Symlink(process.Writ(t), filepath.Join(bin, "writ")); err != nil {
		t.Fatal(err)
	}
	for arguments, want := range map[string]string{
		"Hubert hammer": "hammer/web-1 7\nhammer-test/job 4\n",
		"Clark":         "Hammer/fake 9\nNone/lost 8\nhammer/web-1 7\nshop/cart 5\nhammer-test/job 4\nkube-system/dns 3\n",
		"Edgar":         "",
	} {
		command := exec.CommandContext(t.Context(), python, append([]string{"examples/filters/pods.py"}, strings.Fields(arguments)...)...)
		command.Dir, command.Env = "../..", append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
		out, err := command.CombinedOutput()
		if err != nil || string(out) != want {
			t.Errorf("%s: got %s and %v, want %s", arguments, out, err, want)
		}
	}
}
