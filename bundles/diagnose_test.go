package bundles

import (
	"errors"
	"testing"

	"github.com/writ-policy/writ/rego"
	"github.com/writ-policy/writ/translator/diag"
)

func TestDiagnoseNamesTheDocument(t *testing.T) {
	const path = "compiled/deny/no-exec.rego"
	for name, row := range map[string]struct {
		module string
		want   diag.Position
	}{
		"below a rule's source": {
			"# What one DenyPolicy denies. Generated from deny/exec.yaml:4\npackage compiled.deny\n\n# METADATA\n# custom:\n#   source: \"deny/exec.yaml:10\"\na := \"\ufeff\"\n\n# METADATA\n# custom:\n#   source: \"deny/exec.yaml:20\"\nb := 1\n",
			diag.Position{File: "deny/exec.yaml", Line: 10, Column: 1},
		},
		"a file with a colon and a quotation mark": {
			"package compiled.deny\n\n# METADATA\n# custom:\n#   source: \"a:\\\"b.yaml:7\"\na := unknown(1)\n",
			diag.Position{File: `a:"b.yaml`, Line: 7, Column: 1},
		},
		"above all sources": {
			"package compiled.deny\n\na := 1 2\n\n# METADATA\n# custom:\n#   source: \"x.yaml:3\"\nb := 1\n",
			diag.Position{File: "x.yaml", Line: 3, Column: 1},
		},
		"no source": {"package compiled.deny\n\na := unknown(1)\n", diag.Position{File: path, Line: 3, Column: 6}},
	} {
		t.Run(name, func(t *testing.T) {
			b := &Bundle{Files: rego.Files()}
			b.Files[path] = []byte(row.module)
			list := Diagnose(b, Check(b))
			if len(list) == 0 || list[0].Position != row.want || list[0].Code != diag.Rego {
				t.Errorf("got %v, want one at %v", list, row.want)
			}
		})
	}
	if list := Diagnose(&Bundle{}, errors.New("no space")); len(list) > 0 {
		t.Errorf("got %v for an error of the world, want none", list)
	}
}
