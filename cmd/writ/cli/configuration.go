package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/writ-policy/writ/internal/limits"
	"github.com/writ-policy/writ/translator/syntax"
)

// EnvironmentPrefix is the prefix of all environment variables of writ.
const EnvironmentPrefix = "WRIT_"

// commandLineOnly marks flags that have a different value in each run, such as the
// output path. They cannot be set by the environment or a file.
const commandLineOnly = "command-line-only"

// MarkCommandLineOnly marks flags of cmd as commandLineOnly.
func MarkCommandLineOnly(cmd *cobra.Command, names ...string) {
	for _, name := range names {
		if err := cmd.Flags().SetAnnotation(name, commandLineOnly, []string{"true"}); err != nil {
			panic(err) // a flag that does not exist: a mistake in this package
		}
	}
}

// ApplySettings sets the flags that are not on the command line, from the environment
// or else from the configuration file. It returns an error if the file cannot be read,
// has an unknown key, or a value is invalid.
func ApplySettings(cmd *cobra.Command) error {
	file, err := readConfiguration(cmd)
	if err != nil {
		return err
	}
	var problem error
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Changed || problem != nil || !Configurable(f) {
			return
		}
		variable := EnvironmentPrefix + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		if text := os.Getenv(variable); text != "" {
			problem = setFlag(cmd, f, []string{text}, variable)
			return
		}
		if value, ok := file.values[f.Name]; ok {
			problem = setFlag(cmd, f, value.texts, value.at+": "+f.Name)
		}
	})
	return problem
}

// setFlag sets a flag to values. A flag whose values may have commas takes each of them, one
// a line in the environment; others take a list with commas.
func setFlag(cmd *cobra.Command, f *pflag.Flag, values []string, from string) error {
	if f.Value.Type() == "stringArray" {
		values = strings.Split(strings.TrimSpace(strings.Join(values, "\n")), "\n")
	} else {
		values = []string{strings.Join(values, ",")}
	}
	for _, value := range values {
		if err := cmd.Flags().Set(f.Name, value); err != nil {
			return fmt.Errorf("%s: invalid value %q for --%s: %w", from, value, f.Name, errors.Unwrap(err))
		}
	}
	return cmd.Flags().SetAnnotation(f.Name, setByAnnotation, []string{from})
}

// Configurable reports whether a flag can be set by the environment or a file.
func Configurable(f *pflag.Flag) bool {
	return f.Annotations[commandLineOnly] == nil && f.Name != "help" && f.Name != "config"
}

// configuration is the file with values for flags.
type configuration struct {
	path   string
	values map[string]configured
}

// configured is the value of a key of the file.
type configured struct {
	texts []string
	at    string // file, line and column
}

// readConfiguration reads the configuration file, if one is named. A key that is not the
// flag of a command is an error, so that a misspelt key is not ignored.
func readConfiguration(cmd *cobra.Command) (configuration, error) {
	path := cmd.Flags().Lookup("config").Value.String()
	path = cmp.Or(path, os.Getenv(EnvironmentPrefix+"CONFIG"))
	c := configuration{path: path, values: make(map[string]configured)}
	if path == "" {
		return c, nil
	}
	data, err := ReadAll(cmd.InOrStdin(), path)
	if err != nil {
		return c, fmt.Errorf("read configuration: %w", err)
	}
	var document yaml.Node
	if err := yaml.Unmarshal(data, &document); err != nil {
		if d, _ := syntax.Parse(path, data); len(d.Diags) > 0 { // with a line and a column
			return c, fmt.Errorf("%s: %s", d.Diags[0].Position, d.Diags[0].Message)
		}
		return c, fmt.Errorf("%s: %w", path, err)
	}
	if len(document.Content) == 0 {
		return c, nil
	}
	return c, c.parse(document.Content[0], configurableFlags(cmd.Root()))
}

// parse reads the keys of the file. It returns an error with the position of the first
// mistake.
func (c *configuration) parse(file *yaml.Node, known []string) error {
	if file.Kind != yaml.MappingNode {
		return fmt.Errorf("%s: must be a mapping", c.position(file))
	}
	for i := 0; i+1 < len(file.Content); i += 2 {
		key, value := file.Content[i], file.Content[i+1]
		if !slices.Contains(known, key.Value) {
			return fmt.Errorf("%s: %w", c.position(key), Unknown("key", key.Value, known, "keys are the names of flags, except those of one run"))
		}
		if earlier, twice := c.values[key.Value]; twice {
			return fmt.Errorf("%s: key %q is already at %s", c.position(key), key.Value, earlier.at)
		}
		texts, err := settingTexts(value)
		if err != nil {
			return fmt.Errorf("%s: %s: %w", c.position(value), key.Value, err)
		}
		c.values[key.Value] = configured{texts, c.position(value)}
	}
	return nil
}

func (c *configuration) position(n *yaml.Node) string {
	return fmt.Sprintf("%s:%d:%d", c.path, n.Line, n.Column)
}

// settingTexts formats a value of the file as on the command line, each item of a list. It
// returns an error for mappings and other types that flags do not have.
func settingTexts(value *yaml.Node) ([]string, error) {
	switch {
	case value.Kind == yaml.AliasNode:
		return settingTexts(value.Alias)
	case value.Kind == yaml.ScalarNode && value.Tag == "!!null":
		return []string{""}, nil
	case value.Kind == yaml.ScalarNode:
		var text any
		if err := value.Decode(&text); err != nil {
			return nil, err
		}
		switch text.(type) {
		case string, bool, int, float64:
			return []string{fmt.Sprint(text)}, nil
		}
	case value.Kind == yaml.SequenceNode:
		var texts []string
		for _, item := range value.Content {
			below, err := settingTexts(item)
			if err != nil {
				return nil, err
			}
			texts = append(texts, below...)
		}
		return texts, nil
	}
	return nil, errors.New("must be a string, a number, a boolean, or a list of those")
}

func configurableFlags(root *cobra.Command) []string {
	var names []string
	for _, cmd := range root.Commands() {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if Configurable(f) && !slices.Contains(names, f.Name) {
				names = append(names, f.Name)
			}
		})
	}
	return names
}

// maxFile bounds what ReadAll and ReadFile read: a device has no end.
const maxFile = 64 << 20

// ReadAll reads a file, or standard input for "-".
func ReadAll(in io.Reader, path string) ([]byte, error) {
	if path != "-" {
		return ReadFile(path)
	}
	return limits.ReadAll(in, "standard input", maxFile)
}

// ReadFile reads a file.
func ReadFile(path string) ([]byte, error) { return limits.ReadFile(path, maxFile) }

// setByAnnotation is the annotation of a flag that is set by the environment or the
// configuration, with the name that set it.
const setByAnnotation = "set-by"

// SetBy returns what has set a flag: the flag itself, a variable, or a key of a file.
func SetBy(f *pflag.Flag) string {
	if by := f.Annotations[setByAnnotation]; len(by) > 0 {
		return by[0]
	}
	return "--" + f.Name
}
