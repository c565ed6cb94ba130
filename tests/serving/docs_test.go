package serving

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/writ-policy/writ/tests/process"
)

// The commands of pages that create keys and certificates run as they are written, in the
// order of the page.
func TestCommandsOfPages(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"openssl", "bash", "curl"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed", tool)
		}
	}
	address, plain := process.FreeAddress(t), process.FreeAddress(t)
	for _, test := range []struct {
		page   string
		blocks []int             // of shell, which run one after another
		behind int               // the block that is a server; -1: none
		ready  string            // what curl is called with until that server answers
		edits  map[string]string // of the commands
		want   string            // at the end of the output
	}{
		{"bundles.md", []int{0}, -1, "", nil, `good, by key "release"`},
		{"webhook.md", []int{0, 1, 2, 3}, 1, "--cacert writ/ca.crt https://" + address, map[string]string{
			"0.0.0.0:8443": address, "127.0.0.1:8443": address,
		}, `"allowed":`},
		{"groups.md", []int{0, 1, 2, 3}, 2, "http://" + plain, map[string]string{"127.0.0.1:8686": plain}, `"allowed":false`},
	} {
		t.Run(test.page, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			policies, err := filepath.Abs("../../examples/policies")
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(policies, filepath.Join(dir, "policies")); err != nil {
				t.Fatal(err)
			}
			blocks := shellBlocks(t, filepath.Join("../../docs", test.page))
			script := &strings.Builder{}
			script.WriteString("set -eo pipefail\n")
			for _, i := range test.blocks {
				block := blocks[i]
				for from, to := range test.edits {
					block = strings.ReplaceAll(block, from, to)
				}
				if i == test.behind {
					block = strings.TrimSpace(block) + " 2>serve.log &\ntrap 'kill $!' EXIT\n" +
						"until curl -sf " + test.ready + "/readyz >/dev/null; do kill -0 $!; sleep 0.1; done\n"
				}
				script.WriteString(block + "\n")
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			command := exec.CommandContext(ctx, "bash", "-c", script.String())
			command.Dir = dir
			command.Env = append(os.Environ(), "PATH="+filepath.Dir(process.Writ(t))+":"+os.Getenv("PATH"))
			out, err := command.CombinedOutput()
			if err != nil || !strings.Contains(string(out), test.want) {
				t.Errorf("%v, without %q:\n%s", err, test.want, out)
			}
		})
	}
}

var shellBlock = regexp.MustCompile("(?s)```sh\n(.*?)```")

// shellBlocks returns the blocks of shell commands of a page.
func shellBlocks(t *testing.T, page string) []string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, found := range shellBlock.FindAllStringSubmatch(string(text), -1) {
		out = append(out, found[1])
	}
	return out
}
