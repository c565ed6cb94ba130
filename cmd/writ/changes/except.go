package changes

import (
	"fmt"
	"time"

	"github.com/writ-policy/writ/analysis/reach"
	"github.com/writ-policy/writ/cmd/writ/cli"
	"github.com/writ-policy/writ/translator/dates"
	"github.com/writ-policy/writ/translator/tables"
)

// reachExceptions is the document of --except.
type reachExceptions struct {
	documentHeader `yaml:",inline"`

	Spec struct {
		Exceptions []reachException `yaml:"exceptions"`
	} `yaml:"spec"`
}

type reachException struct {
	From   string `yaml:"from"`
	To     string `yaml:"to"`
	Class  string `yaml:"class"`
	Until  string `yaml:"until"`
	Reason string `yaml:"reason"`
}

const exceptionsKind = "ReachExceptions"

// readExceptions reads the exceptions of a file, or of standard input.
func readExceptions(name string, s cli.Streams) ([]reach.Exception, error) {
	var document reachExceptions
	_, bad, err := readDocument(name, s, "bad-except", exceptionsKind, &document)
	if err != nil {
		return nil, err
	}
	var out []reach.Exception
	for i, e := range document.Spec.Exceptions {
		at := fmt.Sprintf("exceptions[%d]", i)
		switch {
		case e.From == "":
			return nil, bad("%s.from is missing", at)
		case e.To == "":
			return nil, bad("%s.to is missing", at)
		case e.Reason == "":
			return nil, bad("%s.reason is missing", at)
		}
		from, problem, _ := tables.ParsePathGlob(e.From)
		if problem != "" {
			return nil, bad("%s.from %q: %s", at, e.From, problem)
		}
		one := reach.Exception{From: from, Text: e.From, To: e.To, Reason: e.Reason}
		if e.Class != "" {
			class, ok := reach.ParseClass(e.Class)
			if !ok {
				return nil, bad("%s.class %q must be certain, assumed or possible", at, e.Class)
			}
			one.Class = class
		}
		if e.Until != "" {
			until, err := dates.Parse(e.Until)
			if err != nil {
				return nil, bad("%s.until %v", at, err)
			}
			until = until.In(time.UTC)
			one.Until = &until
		}
		out = append(out, one)
	}
	return out, nil
}
