# METADATA
# description: |
#   What pod security reads of the pod behind a request: whether there is one, and
#   which risk factors it has. It knows no policy.
package writ.access.pod

# METADATA
# description: |
#   Whether the pod cannot be judged: it could not be fetched, was not sent, is
#   another one than the request names, or has a shape that cannot be read.
default unavailable := false

unavailable if input.podError != ""

unavailable if not is_object(input.pod)

unavailable if count(_unreadable) > 0

# A hollow object would score zero: a real pod has a container.
unavailable if not _has_containers

unavailable if {
	not input.pod.metadata.namespace in {"", null}
	input.pod.metadata.namespace != input.namespace
}

unavailable if {
	input.name != ""
	not input.pod.metadata.name in {"", null}
	input.pod.metadata.name != input.name
}

_has_containers if {
	is_array(input.pod.spec.containers)
	count(input.pod.spec.containers) > 0
}

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

# Values of another type than Kubernetes gives them. A pod that has one cannot be
# read: taken for absent, it would be a way to score lower.

_unreadable contains "metadata" if not _is(input.pod, "metadata", "object")

_unreadable contains "spec" if not is_object(input.pod.spec)

_unreadable contains sprintf("metadata.%s", [key]) if {
	some key in ["name", "namespace"]
	not _is(_object(input.pod, "metadata"), key, "string")
}

_unreadable contains key if {
	some key in ["hostNetwork", "hostPID", "hostIPC"]
	not _is(_spec, key, "boolean")
}

_unreadable contains key if {
	some key in ["volumes", "containers", "initContainers", "ephemeralContainers"]
	not _is(_spec, key, "array")
}

_unreadable contains "securityContext" if not _readable_security(_spec)

_unreadable contains "a container" if {
	some container in _containers
	not _readable_container(container)
}

_unreadable contains "a volume" if {
	some volume in _volumes
	not _readable_volume(volume)
}

_readable_container(container) if {
	is_object(container)
	_readable_security(container)
	security := _object(container, "securityContext")
	_is(security, "privileged", "boolean")
	_is(security, "capabilities", "object")
	_is(_object(security, "capabilities"), "add", "array")
	every name in _array(_object(security, "capabilities"), "add") {
		is_string(name)
	}
	_is(container, "volumeMounts", "array")
	every mount in _array(container, "volumeMounts") {
		is_string(mount.name)
		_is(mount, "readOnly", "boolean")
	}
}

_readable_security(holder) if {
	_is(holder, "securityContext", "object")
	_is_integer(_object(holder, "securityContext"), "runAsUser")
}

# Names join mounts with volumes: without one a writable mount would look like
# none.
_readable_volume(volume) if {
	is_string(volume.name)
	_is(volume, "hostPath", "object")
}

_is(holder, key, type) if type_name(holder[key]) == type

_is(holder, key, _) if _nothing(holder, key)

_is_integer(holder, key) if {
	is_number(holder[key])
	floor(holder[key]) == holder[key]
}

_is_integer(holder, key) if _nothing(holder, key)

_nothing(holder, key) if {
	is_object(holder)
	object.get(holder, key, null) == null
}

_object(holder, key) := value if {
	value := holder[key]
	is_object(value)
} else := {}

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
