package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

// environmentPrefix begins the name of every environment variable of ours.
const environmentPrefix = "WRIT_"

// commandLineOnly marks flags that mean something else in each run, such as
// where to write: an environment or a file that sets them would surprise.
const commandLineOnly = "command-line-only"

// onlyHere marks flags of cmd as commandLineOnly.
func onlyHere(cmd *cobra.Command, names ...string) {
	for _, name := range names {
		if err := cmd.Flags().SetAnnotation(name, commandLineOnly, []string{"true"}); err != nil {
			panic(err) // a flag that does not exist: a mistake in this package
		}
	}
}

// applySettings fills the flags that the command line leaves out, first from
// the environment, then from the configuration file.
func applySettings(cmd *cobra.Command) error {
	file, err := readSettings(cmd)
	if err != nil {
		return err
	}
	var problem error
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Changed || problem != nil || !configurable(f) {
			return
		}
		variable := environmentPrefix + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		if text := os.Getenv(variable); text != "" {
			problem = setFlag(cmd, f, text, variable)
			return
		}
		if value, ok := file.values[f.Name]; ok {
			problem = setFlag(cmd, f, value, file.path+": "+f.Name)
		}
	})
	return problem
}

func setFlag(cmd *cobra.Command, f *pflag.Flag, value, from string) error {
	if err := cmd.Flags().Set(f.Name, value); err != nil {
		return fmt.Errorf("%s: %q is no value for --%s: %w", from, value, f.Name, errors.Unwrap(err))
	}
	return nil
}

func configurable(f *pflag.Flag) bool {
	return f.Annotations[commandLineOnly] == nil && f.Name != "help" && f.Name != "config"
}

type settings struct {
	path   string
	values map[string]string
}

// readSettings reads the configuration file, if one is named. A key that no
// command has as a flag is refused: a misspelt one must not be without effect.
func readSettings(cmd *cobra.Command) (settings, error) {
	path := cmd.Flags().Lookup("config").Value.String()
	if path == "" {
		path = os.Getenv(environmentPrefix + "CONFIG")
	}
	s := settings{path: path, values: make(map[string]string)}
	if path == "" {
		return s, nil
	}
	data, err := readAll(cmd.InOrStdin(), path)
	if err != nil {
		return s, fmt.Errorf("read configuration: %w", err)
	}
	var raw map[string]any
	if err := yaml.Unmarshal(data, &raw); err != nil {
		return s, fmt.Errorf("read configuration %s: %w", path, err)
	}
	known := configurableFlags(cmd.Root())
	for key, value := range raw {
		if !slices.Contains(known, key) {
			return s, fmt.Errorf("%s: %w", path, unknown("key", key, known, "keys are the names of flags"))
		}
		text, err := settingText(value)
		if err != nil {
			return s, fmt.Errorf("%s: %s: %w", path, key, err)
		}
		s.values[key] = text
	}
	return s, nil
}

// settingText spells a value of the file as on the command line.
func settingText(value any) (string, error) {
	switch v := value.(type) {
	case nil:
		return "", nil
	case string, bool, int, float64:
		return fmt.Sprint(v), nil
	case []any:
		var parts []string
		for _, item := range v {
			text, err := settingText(item)
			if err != nil {
				return "", err
			}
			parts = append(parts, text)
		}
		return strings.Join(parts, ","), nil
	}
	return "", errors.New("want a text, a number, true or false, or a list of those")
}

func configurableFlags(root *cobra.Command) []string {
	var names []string
	for _, cmd := range root.Commands() {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if configurable(f) && !slices.Contains(names, f.Name) {
				names = append(names, f.Name)
			}
		})
	}
	return names
}

// readAll reads a file, or standard input for "-".
func readAll(in io.Reader, path string) ([]byte, error) {
	if path == "-" {
		return io.ReadAll(in)
	}
	return os.ReadFile(path)
}
