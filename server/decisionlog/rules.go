package decisionlog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// rulesPackage is the package of the Rego for masking and dropping.
const rulesPackage = "/system/log/"

// checkedMask is the rule that OPA asks for masks; RULE is the one that it passes on. OPA
// skips a path whose key has a character that it would escape, and logs the value. The text
// in the place of masks is an error for OPA, so the decision is lost and counted.
const checkedMask = `package system.writ

import rego.v1

mask := "a mask has a key that cannot be named: mask its parent" if {
	some rule in data.system.log.RULE
	not regex.match("^[-A-Za-z0-9_.~$&+:=@/]*$", _path(rule))
} else := data.system.log.RULE

_path(rule) := rule if is_string(rule)

_path(rule) := rule.path if is_object(rule)
`

// readRules reads the Rego beside the configuration, and checks that the rules that the
// configuration asks for are there. It returns modules by path, none without a file, and
// makes the configuration ask for checked masks.
func readRules(path string, config map[string]any) (map[string]string, error) {
	content, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	rules := make(map[string]bool)
	if err == nil {
		module, err := ast.ParseModuleWithOpts(path, string(content), ast.ParserOptions{RegoVersion: ast.RegoV1})
		if err != nil {
			return nil, err
		}
		if got := module.Package.Path.String(); got != "data.system.log" {
			return nil, fmt.Errorf("%s: the package must be system.log, not %s", path, strings.TrimPrefix(got, "data."))
		}
		for _, rule := range module.Rules {
			rules[rulesPackage+string(rule.Head.Name)] = true
		}
	}
	asked := make(map[string]string)
	for key, usual := range map[string]string{"mask_decision": "mask", "drop_decision": "drop"} {
		given := config[key]
		if asked[key] = rulesPackage + usual; given != nil {
			asked[key] = fmt.Sprint(given)
		}
		if given != nil && !rules[asked[key]] {
			return nil, fmt.Errorf("%s: no rule %s in %s", key, asked[key], path)
		}
	}
	switch {
	case content == nil:
		return nil, nil
	case !rules[asked["mask_decision"]] && !rules[asked["drop_decision"]]:
		return nil, fmt.Errorf("%s: the package defines neither mask nor drop", path)
	}
	modules := map[string]string{"system/log.rego": string(content)}
	if rules[asked["mask_decision"]] {
		config["mask_decision"] = "/system/writ/mask"
		modules["system/writ.rego"] = strings.ReplaceAll(checkedMask, "RULE", strings.TrimPrefix(asked["mask_decision"], rulesPackage))
	}
	return modules, nil
}
