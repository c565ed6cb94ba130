# METADATA
# description: |
#   What pod security reads of the pod behind a request: whether there is one, and
#   which risk factors it has. It knows no policy.
# schemas:
#   - input: schema.access
package writ.access.pod

# METADATA
# description: |
#   How many times the pod has each risk factor, capabilities left out; a factor
#   it does not have is not there.
occurs["hostNetwork"] := 1 if _spec.hostNetwork == true

occurs["hostPID"] := 1 if _spec.hostPID == true

occurs["hostIPC"] := 1 if _spec.hostIPC == true

occurs["privilegedContainer"] := 1 if {
	some container in _containers
	container.securityContext.privileged == true
}

occurs["runAsRoot"] := 1 if {
	some container in _containers
	_effective_user(container) == 0
}

occurs["hostPathWritable"] := times if {
	times := count(_writable)
	times > 0
}

occurs["hostPathReadOnly"] := times if {
	times := count(_host_paths - _writable)
	times > 0
}

# Unset in both places is not root: the image decides, and is not seen.
_effective_user(container) := user if {
	user := container.securityContext.runAsUser
	is_number(user)
} else := _spec.securityContext.runAsUser

# Volumes are known by their place: two may wrongly have one name.
_host_paths contains place if {
	some place, volume in _volumes
	is_object(volume.hostPath)
}

_writable contains place if {
	some place in _host_paths
	some container in _containers
	some mount in _array(container, "volumeMounts")
	mount.name == _volumes[place].name
	object.get(mount, "readOnly", false) != true
}

# METADATA
# description: |
#   How many containers add the capability, by its normalised name or by ALL.
adds(name) := count([container |
	some container in _containers
	names := {_normal(added) |
		some added in _array(_object(_object(container, "securityContext"), "capabilities"), "add")
		is_string(added)
	}
	count(names & {name, "ALL"}) > 0
])

_normal(name) := trim_prefix(upper(name), "CAP_")

_lists := ["containers", "initContainers", "ephemeralContainers"]

_spec := input.pod.spec

_containers := [container |
	some list in _lists
	some container in _array(_spec, list)
]

_volumes := _array(_spec, "volumes")

# Absent and null are the same.
_array(holder, key) := value if {
	value := holder[key]
	is_array(value)
} else := []

_object(holder, key) := value if {
	value := holder[key]
	is_object(value)
} else := {}
