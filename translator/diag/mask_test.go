package diag

import "testing"

func TestMask(t *testing.T) {
	for line, want := range map[string]string{
		`url: "https://u:p@a.example/x"`:                            `url: "https://***@a.example/x"`,
		`headers: {authorization: {value: "Bearer ab"}, x: {v: 1}}`: `headers: {authorization: {value: ***********}, x: {v: 1}}`,
		`  value: Bearer abc`:                                       `  value: Bearer ***`,
		`client_secret: 'é b'`:                                      `client_secret: *****`,
		`"x-api-key": "k"`:                                          `"x-api-key": ***`,
		"password: h\xffter2":                                       "password: ******",
		`password: abc # why`:                                       `password: ****# why`,
		`sharedSecretRef: {name: ref, key: k}`:                      `sharedSecretRef: {name: ref, key: k}`,
		`resources: [secrets, tokens]`:                              `resources: [secrets, tokens]`,
		`- {operator: eq, selector: a.b, value: admin}`:             `- {operator: eq, selector: a.b, value: admin}`,
	} {
		if got := string(mask([]byte(line))); got != want {
			t.Errorf("%s: got %s, want %s", line, got, want)
		}
	}
}
