package documents

import (
	"fmt"
	"io"

	"github.com/writ-policy/writ/cmd/writ/cli"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/settings"
)

// overriddenSetting is a setting of a source that a flag, the environment or the
// configuration replaces.
type overriddenSetting struct {
	Key    settings.Key `json:"key"`
	Value  string       `json:"value"`
	Source string       `json:"source"`
	By     string       `json:"by"`
	With   string       `json:"with"`
}

func (d *Flags) overridden(list []translator.Overridden) []overriddenSetting {
	var out []overriddenSetting
	for _, o := range list {
		f := d.flags.Lookup(string(o.Key))
		out = append(out, overriddenSetting{o.Key, o.Value.Text, o.Value.At.Source(), cli.SetBy(f), f.Value.String()})
	}
	return out
}

// WriteOverridden reports the replaced settings.
func WriteOverridden(out io.Writer, list []overriddenSetting) {
	for _, o := range list {
		fmt.Fprintf(out, "%s: %s %q is overridden by %s with %q\n", diag.Line(o.Source), o.Key, o.Value, o.By, o.With)
	}
}
