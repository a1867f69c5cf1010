# The package on ROS 2 Jazzy, by the commands of README.md. `libraries` is what a devcontainer
# starts from, the last stage has the package built. docs/setup.md says how to use it.
FROM ros:jazzy AS libraries

SHELL ["/bin/bash", "-eo", "pipefail", "-c"]
RUN apt-get update \
    && apt-get install -y --no-install-recommends git make python3-pip python3-venv \
    && rm -rf /var/lib/apt/lists/*

WORKDIR /ws
COPY package.xml requirements-ros.txt constraints-ros.txt src/sim2real_estimator/
RUN apt-get update \
    && rosdep update --rosdistro jazzy \
    && rosdep install --from-paths src --ignore-src -y \
    && rm -rf /var/lib/apt/lists/* \
    && chown -R ubuntu:ubuntu /ws

# Without privileges; the image of Ubuntu 24.04 comes with this user.
USER ubuntu

# The index of torch's CPU builds saves gigabytes.
ARG TORCH_INDEX_URL=
RUN python3 -m venv --system-site-packages venv \
    && touch venv/COLCON_IGNORE \
    && . venv/bin/activate \
    && if [ -n "$TORCH_INDEX_URL" ]; then \
        pip install --no-cache-dir --index-url "$TORCH_INDEX_URL" \
            "$(grep '^torch==' src/sim2real_estimator/requirements-ros.txt)"; \
    fi \
    && pip install --no-cache-dir -r src/sim2real_estimator/requirements-ros.txt

FROM libraries AS installed
COPY --chown=ubuntu:ubuntu . src/sim2real_estimator
RUN . /opt/ros/jazzy/setup.bash && . venv/bin/activate && python3 -m colcon build
ENTRYPOINT ["/bin/bash", "-c", ". /ws/venv/bin/activate && . /ws/install/setup.bash && exec \"$@\"", "--"]
CMD ["sim2real-estimator", "doctor"]
