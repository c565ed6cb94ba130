package filters

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf16"
)

// database is a database with a client that reads a script.
type database struct {
	target string
	types  map[string]string
	quote  func(string) string
	// text is a literal of a text, and prepared the statements that select by a question's
	// query with its parameters, printing the ids.
	text     func(string) string
	prepared func(query string, args []any) string
	client   []string
	before   string // each script
	// modes are statements that change how the server reads texts, the usual mode first.
	modes []string
}

// columnTypes are the columns of the table, with the type of each, in order.
var columnTypes = [][2]string{
	{"name", "text"}, {"namespace", "text"}, {"labels", "json"}, {"nsl", "json"}, {"phase", "text"}, {"size", "number"},
	{"bound", "boolean"}, {"count", "integer"}, {"available", "json"}, {"display", "text"}, {"roles", "json"},
	{"fields", "json"}, {"l0", "text"}, {"l1", "text"}, {"l2", "text"}, {"l3", "text"}, {"l4", "text"}, {"l5", "text"}, {"l6", "text"}, {"l7", "text"},
	{"l8", "text"}, {"l9", "text"}, {"l10", "text"},
}

// valueOf returns the value of a row in a column, nil for NULL.
func valueOf(row map[string]any, column string) any {
	fields, _ := row["fields"].(map[string]any)
	switch column {
	case "name", "namespace", "labels":
		return row[column]
	case "nsl":
		return row["namespaceLabels"]
	case "available":
		return fields["available_in_namespaces"]
	case "display":
		return fields["display_name"]
	case "fields":
		return row["fields"]
	}
	if at, err := strconv.Atoi(strings.TrimPrefix(column, "l")); err == nil {
		labels, _ := row["labels"].(map[string]string)
		if value, ok := labels[labelKeys[at]]; ok {
			return value
		}
		return nil
	}
	return fields[column]
}

func (d *database) literal(value any, kind string) string {
	switch v := value.(type) {
	case nil:
		return "NULL"
	case string:
		return d.text(v)
	case bool:
		return strings.ToUpper(strconv.FormatBool(v))
	case int, int64, float64:
		return fmt.Sprint(v)
	}
	return d.text(written(value))
}

// written returns JSON with the escapes that encoders of some languages write.
func written(value any) string {
	var out strings.Builder
	for _, r := range strings.TrimSpace(string(encode(value))) {
		switch {
		case r == '/':
			out.WriteString(`\/`)
		case r > 0xffff:
			first, second := utf16.EncodeRune(r)
			fmt.Fprintf(&out, `\u%04x\u%04x`, first, second)
		case r > 0x7e:
			fmt.Fprintf(&out, `\u%04x`, r)
		default:
			out.WriteRune(r)
		}
	}
	return out.String()
}

// table returns the statements that make the table. loose compares texts without case.
func (d *database) table(rows []map[string]any, loose bool) string {
	var out strings.Builder
	out.WriteString("DROP TABLE IF EXISTS items;\nCREATE TABLE items (id INTEGER")
	for _, c := range columnTypes {
		kind := c[1]
		if kind == "text" && loose {
			kind = "loose"
		}
		out.WriteString(", " + d.quote(c[0]) + " " + d.types[kind])
	}
	out.WriteString(");\n")
	for i, row := range rows {
		fmt.Fprintf(&out, "INSERT INTO items VALUES (%d", i)
		for _, c := range columnTypes {
			out.WriteString(", " + d.literal(valueOf(row, c[0]), c[1]))
		}
		out.WriteString(");\n")
	}
	return out.String()
}

// run runs a script and returns the numbers that it prints, a group for each "--" line.
func (d *database) run(t *testing.T, script string) [][]int {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), d.client[0], d.client[1:]...)
	cmd.Stdin = strings.NewReader(d.before + script)
	var out, errors bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errors
	if err := cmd.Run(); err != nil || errors.Len() > 0 {
		t.Fatalf("%s: %v %.2000s", d.target, err, errors.String())
	}
	var groups [][]int
	for line := range strings.Lines(out.String()) {
		line = strings.TrimSpace(line)
		if line == "begin" {
			groups = append(groups, nil)
		} else if n, err := strconv.Atoi(line); err == nil {
			groups[len(groups)-1] = append(groups[len(groups)-1], n)
		}
	}
	return groups
}

func doubled(mark string) func(string) string {
	return func(name string) string { return mark + strings.ReplaceAll(name, mark, mark+mark) + mark }
}

func sqlite(t *testing.T) *database {
	path, err := exec.LookPath("sqlite3")
	if err != nil {
		t.Log("sqlite3 is not installed: SQLite is left out")
		return nil
	}
	text := func(s string) string { return "CAST(x'" + hex.EncodeToString([]byte(s)) + "' AS TEXT)" }
	return &database{
		target: "sql+sqlite", modes: []string{"PRAGMA case_sensitive_like = 0;\n", "PRAGMA case_sensitive_like = 1;\n"}, quote: doubled(`"`), text: text, client: []string{path, ":memory:"}, before: ".parameter init\n",
		types: map[string]string{"text": "TEXT", "loose": "TEXT COLLATE NOCASE", "json": "TEXT", "number": "REAL", "boolean": "INTEGER", "integer": "INTEGER"},
		prepared: func(query string, args []any) string {
			out := "DELETE FROM temp.sqlite_parameters;\n"
			for i, a := range args {
				value := fmt.Sprint(a)
				if s, ok := a.(string); ok {
					value = text(s)
				}
				out += fmt.Sprintf("INSERT INTO temp.sqlite_parameters VALUES ('?%d', %s);\n", i+1, value)
			}
			return out + "SELECT 'begin';\n" + query + ";\n"
		},
	}
}

// serve starts a server as an unprivileged user and stops it with the test.
func serve(t *testing.T, dir string, ready func() bool, command ...string) bool {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir, cmd.SysProcAttr = dir, unprivileged()
	if err := cmd.Start(); err != nil {
		t.Log(err)
		return false
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGQUIT)
		done := make(chan error, 1)
		go func() { done <- cmd.Wait() }()
		select {
		case <-done:
		case <-time.After(5 * time.Second):
			_ = cmd.Process.Kill()
			<-done
		}
	})
	for range 300 {
		if ready() {
			return true
		}
		time.Sleep(100 * time.Millisecond)
	}
	return false
}

const unprivilegedID = 65534

func unprivileged() *syscall.SysProcAttr {
	if os.Getuid() != 0 {
		return nil
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: unprivilegedID, Gid: unprivilegedID}}
}

// scratch returns a directory with a short path, which an unprivileged user may write to.
func scratch(t *testing.T) string {
	dir, err := os.MkdirTemp("/tmp", "filters-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if os.Getuid() == 0 {
		if err := os.Chown(dir, unprivilegedID, unprivilegedID); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func runs(dir string, command ...string) error {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir, cmd.SysProcAttr = dir, unprivileged()
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", command[0], err, out)
	}
	return nil
}

func postgres(t *testing.T) *database {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	client, err := exec.LookPath("psql")
	if len(found) == 0 || err != nil {
		t.Log("PostgreSQL is not installed: it is left out")
		return nil
	}
	slices.Sort(found)
	bin, dir := filepath.Dir(found[len(found)-1]), scratch(t)
	if err := runs(dir, bin+"/initdb", "-D", dir+"/data", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale", "-N"); err != nil {
		t.Fatal(err)
	}
	call := []string{client, "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", dir, "-U", "postgres"}
	if !serve(t, dir, func() bool { return exec.Command(call[0], append(call[1:], "-c", "SELECT 1")...).Run() == nil },
		bin+"/postgres", "-D", dir+"/data", "-c", "listen_addresses=", "-c", "unix_socket_directories="+dir, "-c", "fsync=off", "-c", "shared_buffers=16MB") {
		t.Fatal("PostgreSQL does not start")
	}
	text := func(s string) string {
		return "convert_from('\\x" + hex.EncodeToString([]byte(s)) + "'::bytea, 'UTF8')"
	}
	d := &database{
		target: "sql+postgresql", modes: []string{
			"SET standard_conforming_strings = on; SET backslash_quote = safe_encoding; SET escape_string_warning = off;\n",
			"SET standard_conforming_strings = off; SET backslash_quote = off;\n",
		}, quote: doubled(`"`), client: call, before: "SET client_min_messages = error;\n",
		types: map[string]string{"text": "text", "loose": "text COLLATE loose", "json": "jsonb", "number": "double precision", "boolean": "boolean", "integer": "bigint"},
		prepared: func(query string, args []any) string {
			values := make([]string, len(args))
			for i, a := range args {
				values[i] = fmt.Sprint(a)
				if s, ok := a.(string); ok {
					values[i] = text(s)
				}
			}
			call := ""
			if len(values) > 0 {
				call = "(" + strings.Join(values, ", ") + ")"
			}
			return "SELECT 'begin';\nPREPARE q AS " + query + ";\nEXECUTE q" + call + ";\nDEALLOCATE q;\n"
		},
	}
	d.text = func(s string) string {
		if strings.HasPrefix(s, "{") || strings.HasPrefix(s, "[") && json.Valid([]byte(s)) {
			return text(s) + "::jsonb"
		}
		return text(s)
	}
	d.run(t, "CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level1', deterministic = false);\n")
	return d
}

func mariadb(t *testing.T) *database {
	install, err := exec.LookPath("mariadb-install-db")
	server, serverErr := exec.LookPath("mariadbd")
	client, clientErr := exec.LookPath("mariadb")
	if err != nil || serverErr != nil || clientErr != nil {
		t.Log("MariaDB is not installed: it is left out")
		return nil
	}
	dir := scratch(t)
	if err := runs(dir, install, "--no-defaults", "--datadir="+dir+"/data", "--auth-root-authentication-method=normal", "--skip-test-db"); err != nil {
		t.Fatal(err)
	}
	call := []string{client, "--no-defaults", "--socket=" + dir + "/s", "-u", "root", "-N", "-B", "--default-character-set=utf8mb4"}
	if !serve(t, dir, func() bool { return exec.Command(call[0], append(call[1:], "-e", "SELECT 1")...).Run() == nil },
		server, "--no-defaults", "--datadir="+dir+"/data", "--socket="+dir+"/s", "--skip-networking", "--skip-grant-tables", "--pid-file="+dir+"/pid",
		"--innodb-buffer-pool-size=16M", "--character-set-server=utf8mb4") {
		t.Fatal("MariaDB does not start")
	}
	text := func(s string) string { return "CONVERT(x'" + hex.EncodeToString([]byte(s)) + "' USING utf8mb4)" }
	return &database{
		target: "sql+mysql", modes: []string{
			"SET sql_mode = DEFAULT;\n", "SET sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT';\n",
		}, quote: doubled("`"), text: text, client: call,
		before: "CREATE DATABASE IF NOT EXISTS filters CHARACTER SET utf8mb4; USE filters;\n",
		types: map[string]string{"text": "LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_nopad_ci", "loose": "LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
			"json": "JSON", "number": "DOUBLE", "boolean": "TINYINT(1)", "integer": "BIGINT"},
		prepared: func(query string, args []any) string {
			out, names := "", []string{}
			for i, a := range args {
				value := fmt.Sprint(a)
				if s, ok := a.(string); ok {
					value = text(s)
				}
				out += fmt.Sprintf("SET @p%d = %s;\n", i, value)
				names = append(names, fmt.Sprintf("@p%d", i))
			}
			using := ""
			if len(names) > 0 {
				using = " USING " + strings.Join(names, ", ")
			}
			return out + "SET @q = " + text(query) + ";\nPREPARE q FROM @q;\nSELECT 'begin';\nEXECUTE q" + using + ";\n"
		},
	}
}
