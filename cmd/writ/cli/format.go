package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/writ-policy/writ/cmd/writ/terminal"
	"github.com/writ-policy/writ/translator/dates"
)

// FormatFlag adds -o with the formats of a command. The first one is the default.
func FormatFlag(cmd *cobra.Command, into *string, forms ...string) {
	addChoices(cmd, &choice{flagText{into}, forms}, "output", "o", "`format` of the output: "+Alternatives(forms), forms)
	*into = forms[0] // help does not repeat it as the default
}

// ChoiceFlag adds a flag that accepts a closed set of values, and completes them. What
// into has is the default.
func ChoiceFlag(cmd *cobra.Command, into *string, name, usage string, values ...string) {
	addChoices(cmd, &choice{flagText{into}, values}, name, "", usage, values)
}

// ChoicesFlag adds a repeatable flag whose values are of a closed set, also as a list with commas.
func ChoicesFlag(cmd *cobra.Command, into *[]string, name, usage string, values ...string) {
	addChoices(cmd, &choices{into, values}, name, "", usage, values)
}

// choices is the value of a flag that accepts several of a closed set of values.
type choices struct {
	values *[]string
	of     []string
}

// String returns "" for the zero value, of which pflag asks it.
func (c *choices) String() string {
	if c.values == nil {
		return ""
	}
	return strings.Join(*c.values, ",")
}

// Type is the word for the value in help.
func (c *choices) Type() string { return strings.Join(c.of, "|") }

// Set adds a value, or several.
func (c *choices) Set(text string) error {
	for value := range strings.SplitSeq(text, ",") {
		var one string
		if err := (&choice{flagText{&one}, c.of}).Set(value); err != nil {
			return err
		}
		*c.values = append(*c.values, one)
	}
	return nil
}

func addChoices(cmd *cobra.Command, value pflag.Value, name, short, usage string, values []string) {
	cmd.Flags().VarP(value, name, short, usage)
	err := cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	if err != nil {
		panic(err) // a flag that does not exist: a mistake in this package
	}
}

// flagText is the value of a flag that some texts are refused for.
type flagText struct{ value *string }

// String returns "" for the zero value, of which pflag asks it.
func (t *flagText) String() string {
	if t.value == nil {
		return ""
	}
	return *t.value
}

func (t *flagText) Type() string { return "string" }

// choice is the value of a flag that accepts a closed set of values.
type choice struct {
	flagText
	of []string
}

func (c *choice) Set(text string) error {
	if !slices.Contains(c.of, text) {
		return fmt.Errorf("must be %s", Alternatives(c.of))
	}
	*c.value = text
	return nil
}

// Arguments accepts from least to most arguments; the usage says which.
func Arguments(least, most int, usage string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < least || len(args) > most {
			return Usagef(cmd, "%s", usage)
		}
		return nil
	}
}

// Alternatives formats a list as "a, b or c".
func Alternatives(of []string) string {
	if len(of) == 1 {
		return of[0]
	}
	return strings.Join(of[:len(of)-1], ", ") + " or " + of[len(of)-1]
}

// TimeFlag adds a flag with a time in the form that documents have, or one of other words. An
// empty text is refused: it is a variable of a script that is not set, not the machine's time.
func TimeFlag(cmd *cobra.Command, into *string, name, usage string, words ...string) {
	cmd.Flags().Var(&instant{flagText{into}, words}, name, usage)
}

// instant is the value of a flag with a time.
type instant struct {
	flagText
	words []string
}

func (i *instant) Set(text string) error {
	_, err := dates.Parse(text)
	switch {
	case err == nil || slices.Contains(i.words, text):
	case len(i.words) > 0 && errors.Is(err, dates.ErrForm):
		return errors.New(strings.Replace(err.Error(), "must be", "must be "+strings.Join(i.words, ", ")+" or", 1))
	default:
		return err
	}
	*i.value = text
	return nil
}

// Colours reports whether a stream should be written in colours.
func Colours(w io.Writer) bool {
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && terminal.Is(w)
}

// Clock returns the engine's clock, which is fixed if text, the value of a TimeFlag, is not
// empty.
func Clock(text string) (func() time.Time, error) {
	if text == "" {
		return time.Now, nil
	}
	at, err := dates.Parse(text)
	return func() time.Time { return at }, err
}
