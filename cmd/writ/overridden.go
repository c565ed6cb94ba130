package main

import (
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"github.com/writ-policy/writ/translator"
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

func (d *documentFlags) overridden(list []translator.Overridden) []overriddenSetting {
	var out []overriddenSetting
	for _, o := range list {
		f := d.flags.Lookup(string(o.Key))
		out = append(out, overriddenSetting{o.Key, o.Value.Text, o.Value.At.Source(), setBy(f), f.Value.String()})
	}
	return out
}

// writeOverridden reports the replaced settings.
func writeOverridden(out io.Writer, list []overriddenSetting) {
	for _, o := range list {
		fmt.Fprintf(out, "%s: %s %q is overridden by %s with %q\n", quoted(o.Source), o.Key, o.Value, o.By, o.With)
	}
}

// setByAnnotation is the annotation of a flag that is set by the environment or the
// configuration, with the name that set it.
const setByAnnotation = "set-by"

// setBy returns what has set a flag: the flag itself, a variable, or a key of a file.
func setBy(f *pflag.Flag) string {
	if by := f.Annotations[setByAnnotation]; len(by) > 0 {
		return by[0]
	}
	return "--" + f.Name
}
