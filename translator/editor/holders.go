package editor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/directory"
)

// maxHolders bounds the lines about a role.
const maxHolders = 30

// Holders returns who holds the role that is named at a position, as Markdown; empty if no role
// is named there, or if the directory has errors.
func (a *Analysis) Holders(at diag.Position) string {
	for _, n := range a.names[at.File] {
		if covers(n.at, len([]rune(n.target.Name)), at) && strings.HasSuffix(n.target.Kind, "Role") {
			return a.holders(n.target)
		}
	}
	return ""
}

func (a *Analysis) holders(role directory.Identity) string {
	if a.Result == nil {
		return ""
	}
	binds := make(map[directory.Identity]bool)
	for _, n := range a.byTarget[role] {
		if !n.isDeclared {
			binds[n.by] = true
		}
	}
	var lines []string
	for h := range a.Result.Tables.Holdings() {
		id := directory.Identity{Family: h.Binding.Family, Kind: h.Binding.Kind, Namespace: h.Binding.Namespace, Name: h.Binding.Name}
		if !binds[id] {
			continue
		}
		where := "every namespace"
		if h.Namespace != "" {
			where = "namespace " + h.Namespace
		}
		lines = append(lines, fmt.Sprintf("- `%s` in %s, by %s", h.Subject, where, titleOf(id)))
	}
	slices.Sort(lines)
	lines = slices.Compact(lines)
	if len(lines) == 0 {
		return "**" + titleOf(role) + "** has no subjects.\n"
	}
	if more := len(lines) - maxHolders; more > 0 {
		lines = append(lines[:maxHolders], fmt.Sprintf("- and %d more", more))
	}
	return "**" + titleOf(role) + "** is held by\n\n" + strings.Join(lines, "\n") + "\n"
}
